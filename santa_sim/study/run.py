"""Runs a study: every method on every dataset, then every accelerator on every ledger."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hw_models.accelerator import Accelerator
from hw_models.evaluate import Evaluation, evaluate
from hw_models.problems import SpecError
from santa_sim.methods.spec import label
from santa_sim.report.tables import ReportTables
from santa_sim.study import rows
from santa_sim.study.arithmetic import FAULTS
from santa_sim.study.chunks import Chunker
from santa_sim.study.dispatch import dispatch
from santa_sim.study.engines import engine_of, usable_cores
from santa_sim.study.event_level import EventResults, run_events
from santa_sim.study.measured import measured_tables
from santa_sim.study.notes import notes, unprecise
from santa_sim.study.plan import Plan, Planned
from santa_sim.study.point import PointResult
from santa_sim.study.precision import is_precise
from santa_sim.study.progress import Progress, Step
from santa_sim.study.result_log import ResultLog
from santa_sim.study.spec import Study
from santa_sim.study.tables import ResultTables, frames
from santa_sim.study.wide import WideTable
from santa_sim.study.worker import Chunk, ChunkDone

if TYPE_CHECKING:
    import pandas as pd

SMALL_S = 60.0
"""Estimated core seconds up to which threads are the default: processes cost a few seconds of
start-up and of making data once each, and pay it back where Python's lock would hold threads up."""


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    study: resolved, every grid spelt out. accelerators: its machines. tables: the result tables as
    data frames.
    failed: one sentence per point that could not be computed. notes: what a reader must know.
    wide: the rows of all machines, where the study has too many for `tables`, which then hold the
    unchanged ones.
    event: what ran in time, at the event level.
    """

    study: Study
    accelerators: tuple[Accelerator, ...]
    tables: ResultTables
    failed: tuple[str, ...]
    notes: tuple[str, ...]
    wide: WideTable | None = None
    event: EventResults | None = None

    @cached_property
    def measured(self) -> Mapping[str, pd.DataFrame]:
        """Further tables where an accelerator was measured (`santa_sim.study.measured`)."""
        return measured_tables(self.tables.points, self.accelerators)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per point and accelerator: the table that `results.parquet` holds."""
        return self.tables.points if self.wide is None else self.wide.frame()

    def report_tables(self, provenance: dict[str, object], study_text: str) -> ReportTables:
        """Return what the report reads; raises `ValueError` if no point could be computed."""
        done = self.tables.points["status"] == "ok"
        return ReportTables(
            title=self.study.title, question=self.study.question, study_name=self.study.name,
            points=self.tables.points[done].reset_index(drop=True),
            operations=self.tables.operations, streams=self.tables.streams,
            energy=self.tables.energy, busy=self.tables.busy, constants=self.tables.constants,
            notes=[*self.failed, *self.notes], provenance=provenance, study_text=study_text,
            more={**(self.event.tables if self.event else {}), **self.measured},
        )


def run_plan(
    planned: Plan, *, engine: str | None = None, jobs: int | None = None,
    log: ResultLog | None = None, progress: Progress | None = None,
) -> StudyResult:
    """Run a study that has been read already; writes nothing but the log.

    engine, jobs, progress: as `santa_sim.study.run_study`. log: holds points that are not computed
    again, and takes in those that are.
    """
    run = _Run(planned, log, progress)
    run.take_known()
    chunker = Chunker(
        planned.missing(run.counted), planned.loaded.study.level, planned.loaded.study.seeds
    )

    def take(chunk: Chunk, done: ChunkDone) -> None:
        if done.problems:
            raise run.relocated(chunk, SpecError(done.problems))
        chunker.learn(chunk, done)
        run.take(done)

    chosen = engine or default_engine(planned, run.counted)
    dispatch(engine_of(chosen, jobs or usable_cores()), chunker.following, take)
    result = run.result()
    if planned.loaded.study.level != "event":
        return result
    event = run_events(planned.loaded, engine, jobs or usable_cores())
    return replace(result, failed=(*result.failed, *event.failed), event=event)


def default_engine(planned: Plan, known: Container[str] = ()) -> str:
    """Return `threads` for a small study and `processes` for a large one."""
    left = sum(p.seconds for p in planned.points if p.key not in known)
    return "threads" if left <= SMALL_S else "processes"


@dataclass
class _Run:
    """What is known of a study so far: by point, for points come back in any order."""

    plan: Plan
    log: ResultLog | None
    progress: Progress | None
    counted: set[str] = field(default_factory=set)
    _tables: dict[int, rows.Collector] = field(default_factory=dict)
    _failed: dict[int, list[str]] = field(default_factory=dict)
    _said: dict[int, list[str]] = field(default_factory=dict)
    _by_key: dict[str, list[Planned]] = field(default_factory=dict)
    _errors: dict[str, str] = field(default_factory=dict)
    _results: dict[str, PointResult] = field(default_factory=dict)
    _loose: set[str] = field(default_factory=set)
    _reused: int = 0
    _work: float = 0.0
    _work_done: float = 0.0

    def __post_init__(self) -> None:
        for planned in self.plan.points:
            self._by_key.setdefault(planned.key, []).append(planned)

    def take_known(self) -> None:
        """Cost the points whose counts the log holds."""
        if self.log is not None:
            for key in self._by_key:
                if key in self.log:
                    self.counted.add(key)
                    self._cost(key, PointResult.from_dict(self.log.get(key)))
        self._reused = len(self._tables)
        self._work = sum(p.seconds for p in self.plan.points if p.key not in self.counted)
        self._report("")

    def take(self, done: ChunkDone) -> None:
        """Log and cost what a chunk has found."""
        if self.log is not None:
            self.log.append(
                (o.key, o.result.to_dict()) for o in done.outcomes if o.result is not None
            )
        for outcome in done.outcomes:
            if outcome.result is not None:
                self._cost(outcome.key, outcome.result)
            else:
                self._fail(outcome.key, outcome.error)
            for planned in self._by_key[outcome.key]:
                self._work_done += planned.seconds
                self._report(f"{planned.point.dataset.name}: {label(planned.point.method)}")

    def relocated(self, chunk: Chunk, error: SpecError) -> SpecError:
        """Return the fault of a dataset placed where the study names it."""
        loaded = self.plan.loaded
        identities = [dataset.identity for dataset in loaded.datasets]
        return loaded.relocated(identities.index(chunk.identity), error)

    def result(self) -> StudyResult:
        """Return the tables, in the order of the study."""
        loaded = self.plan.loaded
        order = sorted(self._tables)
        said = dict.fromkeys(note for i in order for note in self._said.get(i, ()))
        failed = [sentence for i in order for sentence in self._failed.get(i, ())]
        tables = rows.joined((self._tables[i] for i in order), loaded.accelerators)
        said.update(dict.fromkeys(unprecise(len(self._loose), loaded.study.seeds)))
        wide = WideTable(loaded, self.plan.points, self._found) if loaded.wide else None
        return StudyResult(
            loaded.study, tuple(loaded.accelerators), frames(tables), tuple(failed),
            notes(loaded, tuple(said)), wide,
        )

    def _found(self, key: str) -> PointResult | str:
        if key in self._errors:
            return self._errors[key]
        if self.log is not None and key in self.log:
            return PointResult.from_dict(self.log.get(key))
        return self._results[key]

    def _report(self, name: str) -> None:
        if self.progress is not None:
            share = self._work_done / self._work if self._work else 1.0
            total = len(self.plan.points)
            self.progress(Step(len(self._tables), total, self._reused, share, name))

    def _collector(self, point: rows.Point) -> rows.Collector:
        return self._tables.setdefault(point.number, rows.Collector(self.plan.loaded.accelerators))

    def _fail(self, key: str, error: str) -> None:
        self._errors[key] = error
        for planned in self._by_key[key]:
            point = planned.point
            self._collector(point).failed(point, error, self.plan.loaded.accelerators)
            self._failed[point.number] = [f"{_name(point)} failed: {error}"]

    def _cost(self, key: str, result: PointResult) -> None:
        """Cost a point on every accelerator, and keep what the lowering had to decide."""
        seeds = self.plan.loaded.study.seeds
        if not is_precise(result.rel_error, result.rel_error_high - result.rel_error, seeds):
            self._loose.add(key)
        if self.plan.loaded.wide and self.log is None:
            self._results[key] = result
        for planned in self._by_key[key]:
            point = planned.point
            tables = self._collector(point)
            for accelerator in self.plan.loaded.accelerators:
                try:
                    evaluation = evaluate(result.total, accelerator)
                except FAULTS as error:  # constants so extreme that no cost is finite
                    tables.failed(point, str(error), [accelerator])
                    self._failed.setdefault(point.number, []).append(
                        f"{_name(point)} on {accelerator.name} failed: {error}"
                    )
                    continue
                tables.add(point, result, evaluation, accelerator)
                if isinstance(evaluation, Evaluation):
                    self._said.setdefault(point.number, []).extend(
                        f"{accelerator.title}: {note}." for note in evaluation.lowered.notes
                    )
            tables.add_streams(point, result)


def _name(point: rows.Point) -> str:
    return f"{label(point.method)} on {point.dataset.name}"
