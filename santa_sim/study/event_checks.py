"""What a study must hold so that its points can run in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hw_models.accelerator import Accelerator
from hw_models.problems import Document, Problem, SpecError, did_you_mean
from santa_sim.event.plan import refuse_inexact
from santa_sim.event.run import memory_of
from santa_sim.event.spec import EventRun
from santa_sim.methods.spec import label


def event_runs(level: str, given: Iterable[EventRun]) -> tuple[EventRun, ...]:
    """Return the ways of running in time, each once; at the event level one, if none is given."""
    runs: list[EventRun] = []
    for run in given:
        if run not in runs:
            runs.append(run)
    return tuple(runs) if runs or level != "event" else (EventRun(),)


def event_faults(
    document: Document, level: str, data: Iterable[Any], methods: Iterable[Any],
    accelerators: Sequence[Accelerator], runs: Iterable[EventRun],
) -> list[Problem]:
    """Return what cannot run in time, each with its place in the file."""
    if level != "event":
        if document.data.get("event"):
            message = f"needs level: event; the level is {level}"
            return [document.problem(("event",), message)]
        return []
    return [
        *_of_accelerators(document, accelerators),
        *_of_points(document, data, methods),
        *_of_units(document, accelerators, runs),
    ]


def _of_accelerators(document: Document, accelerators: Sequence[Accelerator]) -> Iterator[Problem]:
    for accelerator in accelerators:
        try:
            memory_of(accelerator)
        except SpecError as error:
            yield document.problem(("accelerators",), str(error))


def _of_points(
    document: Document, data: Iterable[Any], methods: Iterable[Any]
) -> Iterator[Problem]:
    for entry in data:
        heads = getattr(entry, "simulated_kv_heads", None)
        if heads is not None:
            yield document.problem(("data",), (
                "the event level needs the rows of every KV head; leave out simulated_kv_heads "
                f"(got {heads})"
            ))
            break
    for method in methods:
        try:
            refuse_inexact(method, 1)
        except ValueError as error:
            yield document.problem(("methods",), f"{label(method)}: {error}")


def _of_units(
    document: Document, accelerators: Sequence[Accelerator], runs: Iterable[EventRun]
) -> Iterator[Problem]:
    for unit in dict.fromkeys(unit for run in runs for unit in run.rates):
        for accelerator in accelerators:
            units = accelerator.arithmetic.units
            if unit not in units:
                near = did_you_mean(unit, units)
                message = f"{accelerator.name} has no unit '{unit}'{near}"
                yield document.problem(("event",), message)
                break
