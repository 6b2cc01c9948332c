"""Runs the points of a study in time: exact rows of the first seed through each pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hw_models.accelerator import Accelerator
from hw_models.ledger import Ledger
from hw_models.lowering import Misfit
from hw_models.pipeline.perfetto import trace_events
from santa_sim.event import KvLayout, Sizes, StepShape, memory_of, plan, run
from santa_sim.event.rows import (
    EVENT_COLUMNS,
    STEP_COLUMNS,
    TRACK_COLUMNS,
    Row,
    event_row,
    step_rows,
    traced,
    track_rows,
)
from santa_sim.event.spec import EventRun, label
from santa_sim.methods import decode
from santa_sim.methods.decode import DrawnRows
from santa_sim.methods.spec import label as method_label
from santa_sim.study.arithmetic import FAULTS
from santa_sim.study.datasets import steps_of
from santa_sim.study.dispatch import WorkersLostError
from santa_sim.study.engines import engine_of
from santa_sim.study.load import LoadedStudy

if TYPE_CHECKING:
    import pandas as pd

TIMELINES = 8
"""Runs that get a timeline: the first way of running the first dataset, by method and machine."""
FEW = 12
"""Runs that are not worth the start of worker processes."""


@dataclass(frozen=True)
class EventResults:
    """Tables by name (`santa_sim.event.rows`), why runs failed, and the events of a trace."""

    tables: dict[str, pd.DataFrame]
    failed: tuple[str, ...]
    trace: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class _Task:
    """One point on one accelerator with one layout, and the runs that share this plan.

    runs: with the number of their timeline, or None where none is wanted.
    """

    point: int
    name: str
    method: Any
    shape: StepShape
    rows: DrawnRows | None
    ledger: Ledger
    accelerator: Accelerator
    layout: KvLayout
    runs: tuple[tuple[EventRun, int | None], ...]


@dataclass
class _Found:
    events: list[Row] = field(default_factory=list)
    event_tracks: list[Row] = field(default_factory=list)
    event_steps: list[Row] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def run_events(loaded: LoadedStudy, engine: str | None, jobs: int) -> EventResults:
    """Simulate every point of a study on every accelerator in every way that it asks for.

    Rows are those of the study's first seed on the last step of each dataset. engine, jobs: as in
    `santa_sim.study.run_study`, by default processes where there are more than a few runs, since
    SimPy leaves threads no room; results depend on neither. A run that cannot work becomes a row
    that says why.
    """
    tasks = list(_tasks(loaded))
    runs = sum(len(task.runs) for task in tasks)
    whole = _Found()
    for found in _each(tasks, engine or ("serial" if runs <= FEW else "processes"), jobs):
        for name in ("events", "event_tracks", "event_steps", "trace", "failed"):
            getattr(whole, name).extend(getattr(found, name))
    order = {label(run): i for i, run in enumerate(loaded.study.event)}
    machines = {a.name: i for i, a in enumerate(loaded.accelerators)}
    whole.events.sort(key=lambda r: (r["point"], machines[r["accelerator"]], order[r["run"]]))
    return EventResults(
        {"events": _frame(whole.events, EVENT_COLUMNS),
         "event_tracks": _frame(whole.event_tracks, TRACK_COLUMNS),
         "event_steps": _frame(whole.event_steps, STEP_COLUMNS)},
        tuple(whole.failed), tuple(whole.trace),
    )


def _each(tasks: Sequence[_Task], engine: str, jobs: int) -> Iterable[_Found]:
    running = engine_of(engine, max(1, min(jobs, len(tasks))))
    try:
        yield from running.start().map(_run_task, tasks)
    except BrokenExecutor as error:
        raise WorkersLostError(f"a worker process died in the event level: {error}") from None
    finally:
        running.stop()


def _tasks(loaded: LoadedStudy) -> Iterator[_Task]:
    study = loaded.study
    layouts = list(dict.fromkeys(run.kv_layout for run in study.event))
    traces = 0
    for i, dataset in enumerate(loaded.datasets):
        step = steps_of(dataset.name, dataset.make)[-1]
        shape = StepShape.of(step)
        for j, method in enumerate(study.methods):
            decoded = decode(
                method, step.q, step.k, step.v, seq_lens=step.seq_lens, sm_scale=step.sm_scale,
                seed=study.seeds.first, step=step.step, layer=step.layer, check_finite=False,
            )
            for accelerator in loaded.accelerators:
                for layout in layouts:
                    runs: list[tuple[EventRun, int | None]] = []
                    for event in study.event:
                        if event.kv_layout is not layout:
                            continue
                        wanted = i == 0 and event == study.event[0] and traces < TIMELINES
                        traces += wanted
                        runs.append((event, traces if wanted else None))
                    yield _Task(
                        i * len(study.methods) + j, f"{method_label(method)} on {dataset.name}",
                        method, shape, decoded.rows, decoded.ledger, accelerator, layout,
                        tuple(runs),
                    )


def _run_task(task: _Task) -> _Found:
    found = _Found()
    try:
        memory = memory_of(task.accelerator)
        made = plan(task.method, task.shape, task.rows, task.ledger, task.accelerator,
                    task.layout, memory)
    except FAULTS as error:
        for event, _ in task.runs:
            _refused(found, task, event, "failed", str(error))
        return found
    alone_s: float | None = None
    for event, number in task.runs:
        if isinstance(made, Misfit):
            _refused(found, task, event, "does not fit", str(made))
            continue
        try:
            report = run(made, task.accelerator, memory, Sizes(event.rates, event.depth), alone_s)
        except FAULTS as error:
            _refused(found, task, event, "failed", str(error))
            continue
        alone_s = report.bounds.memory_alone_s
        key = _key(task, event)
        found.events.append(key | event_row(made, report, task.accelerator))
        short = {name: key[name] for name in ("point", "accelerator", "run")}
        found.event_tracks.extend(short | row for row in track_rows(report))
        if number is not None:
            found.event_steps.extend(short | row for row in step_rows(report))
            shown = traced(made, report, task.accelerator)
            name = f"{task.name}, {task.accelerator.name}, {key['run']}"
            found.trace.extend(trace_events(number, name, report, shown.power))
    return found


def _key(task: _Task, event: EventRun) -> Row:
    return {
        "point": task.point, "accelerator": task.accelerator.name, "run": label(event),
        "kv_layout": str(event.kv_layout), "depth": event.depth,
        "rates": ", ".join(f"{unit} {rate:.4g}" for unit, rate in event.rates.items()),
    }


def _refused(found: _Found, task: _Task, event: EventRun, status: str, why: str) -> None:
    found.events.append(_key(task, event) | {"status": status, "error": why})
    if status == "failed":
        found.failed.append(f"{task.name} on {task.accelerator.name}, {label(event)}: {why}")


def _frame(rows: list[Row], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({
        name: pd.array([row.get(name) for row in rows], dtype=_dtype(name)) for name in columns
    })


_WHOLE = frozenset({"point", "depth", "activations", "slots", "steps", "slot"})
_TEXT = frozenset({
    "accelerator", "run", "kv_layout", "rates", "status", "error", "bottleneck", "track", "label",
})


def _dtype(column: str) -> Any:
    if column in _WHOLE or column.endswith("_bytes"):
        return "Int64"
    return "string" if column in _TEXT else "float64"
