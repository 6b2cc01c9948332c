"""Runs a study: every method on every dataset, then every accelerator on every ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hw_models.evaluate import Evaluation, evaluate
from hw_models.problems import SpecError
from santa_sim.data.attention import AttentionStep
from santa_sim.methods.spec import label
from santa_sim.report.tables import ReportTables
from santa_sim.study import rows
from santa_sim.study.datasets import ARITHMETIC_FAULTS, exact_output, make_steps
from santa_sim.study.load import LoadedStudy, load_study
from santa_sim.study.notes import notes
from santa_sim.study.point import PointResult, run_expected, run_sampled
from santa_sim.study.spec import Study
from santa_sim.study.tables import ResultTables, frames

if TYPE_CHECKING:
    import pandas as pd

Progress = Callable[[int, int, str], None]
"""Called with (points done, points in all, label of the last one)."""


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    study: resolved, every grid spelt out. tables: the result tables as data frames.
    failed: one sentence per point that could not be computed. notes: what a reader must know.
    """

    study: Study
    tables: ResultTables
    failed: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """One row per point and accelerator: the table that `results.parquet` holds."""
        return self.tables.points

    def report_tables(self, provenance: dict[str, object], study_text: str) -> ReportTables:
        """Return what the report reads; raises `ValueError` if no point could be computed."""
        done = self.tables.points["status"] == "ok"
        return ReportTables(
            title=self.study.title, question=self.study.question, study_name=self.study.name,
            points=self.tables.points[done].reset_index(drop=True),
            operations=self.tables.operations, streams=self.tables.streams,
            energy=self.tables.energy, constants=self.tables.constants,
            notes=[*self.failed, *self.notes], provenance=provenance, study_text=study_text,
        )


def run_study(
    path: str | Path, overrides: Sequence[str] = (), *, jobs: int | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Run a study file and return its tables; writes nothing.

    overrides: texts such as `seeds.count=4` that change the study. jobs: threads, by default one
    per usable core; results do not depend on it. progress: called after each point.
    Raises `SpecError` (a `ValueError`) for a fault in the study or in what it names.
    """
    return run_loaded(load_study(path, overrides), jobs=jobs, progress=progress)


def run_loaded(
    loaded: LoadedStudy, *, jobs: int | None = None, progress: Progress | None = None
) -> StudyResult:
    """Run a study that has been read already (see `run_study`)."""
    total = len(loaded.datasets) * len(loaded.study.methods)
    tables = rows.Collector(loaded.accelerators)
    failed: list[str] = []
    said: dict[str, None] = {}
    for number, (point, result) in enumerate(_points(loaded, jobs or usable_cores())):
        if isinstance(result, PointResult):
            said.update(dict.fromkeys(_evaluate(point, result, loaded, tables, failed)))
        else:
            tables.failed(point, result, loaded.accelerators)
            failed.append(f"{_name(point)} failed: {result}")
        if progress is not None:
            progress(number + 1, total, f"{point.dataset.name}: {label(point.method)}")
    return StudyResult(
        loaded.study, frames(tables), tuple(failed), notes(loaded, tuple(said))
    )


def _name(point: rows.Point) -> str:
    return f"{label(point.method)} on {point.dataset.name}"


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _evaluate(
    point: rows.Point, result: PointResult, loaded: LoadedStudy, tables: rows.Collector,
    failed: list[str],
) -> Iterator[str]:
    """Cost a point on every accelerator; yield what the lowering had to decide."""
    for accelerator in loaded.accelerators:
        try:
            evaluation = evaluate(result.total, accelerator)
        except ARITHMETIC_FAULTS as error:  # constants so extreme that a cost is not finite
            tables.failed(point, error, [accelerator])
            failed.append(f"{_name(point)} on {accelerator.name} failed: {error}")
            continue
        tables.add(point, result, evaluation, accelerator)
        if isinstance(evaluation, Evaluation):
            for note in evaluation.lowered.notes:
                yield f"{accelerator.title}: {note}."
    tables.add_streams(point, result)


def _points(
    loaded: LoadedStudy, jobs: int
) -> Iterator[tuple[rows.Point, PointResult | Exception]]:
    """Yield points in order; one dataset is in memory at a time, its methods run in threads."""
    study = loaded.study
    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        for i, dataset in enumerate(loaded.datasets):
            try:
                steps = make_steps(dataset)
            except SpecError as error:
                raise loaded.relocated(i, error) from None
            exact = _exact(study, steps)
            tasks = [pool.submit(_run, study, method, steps, exact) for method in study.methods]
            for j, task in enumerate(tasks):
                point = rows.Point(i * len(tasks) + j, dataset, study.methods[j], steps[-1])
                yield point, task.result()
    finally:
        # an interrupt must not wait for points that are being computed
        pool.shutdown(wait=False, cancel_futures=True)


def _exact(
    study: Study, steps: Sequence[AttentionStep]
) -> Sequence[NDArray[np.float64]] | Exception:
    try:
        return [exact_output(step) for step in steps] if study.level == "sampled" else []
    except ARITHMETIC_FAULTS as error:
        return error


def _run(
    study: Study, method: Any, steps: Sequence[AttentionStep],
    exact: Sequence[NDArray[np.float64]] | Exception,
) -> PointResult | Exception:
    if isinstance(exact, Exception):
        return ValueError(f"exact attention cannot be computed: {exact}")
    try:
        if study.level == "expected":
            return run_expected(method, steps)
        return run_sampled(method, steps, exact, study.seeds)
    except ARITHMETIC_FAULTS as error:
        # one impossible point must not cost the user the others; it becomes a row that says why
        return error
