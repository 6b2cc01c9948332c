"""What a worker does: it makes a dataset once and runs methods on it, chunk by chunk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.problems import Problem, SpecError
from santa_sim.data.attention import AttentionStep
from santa_sim.study.arithmetic import FAULTS
from santa_sim.study.datasets import exact_output, steps_of
from santa_sim.study.identity import counting_version
from santa_sim.study.point import PointResult, run_expected, run_sampled
from santa_sim.study.spec import Seeds


@dataclass(frozen=True)
class Task:
    """One method on one dataset; key: identity of its result (`santa_sim.study.identity`)."""

    key: str
    method: Any


@dataclass(frozen=True)
class Chunk:
    """Tasks on one dataset that travel together.

    name, identity, make: of the dataset. level, seeds: of the study. code: version of the code
    that the runner expects of the worker.
    """

    name: str
    identity: str
    make: Callable[[], list[AttentionStep]]
    level: str
    seeds: Seeds
    tasks: tuple[Task, ...]
    code: str


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its result, or the reason why there is none."""

    key: str
    result: PointResult | None
    error: str = ""


@dataclass(frozen=True)
class ChunkDone:
    """What became of a chunk.

    seconds: that the methods took, the making of the dataset aside. problems: why the dataset
    cannot be made, which leaves no outcomes.
    """

    outcomes: tuple[Outcome, ...]
    seconds: float
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _Held:
    identity: str
    level: str
    steps: list[AttentionStep]
    exact: Sequence[NDArray[np.float64]] | Exception


_making = threading.Lock()
_held: list[_Held] = []
"""The last dataset made in this process, and no other: a long context fills gigabytes."""


def run_chunk(chunk: Chunk) -> ChunkDone:
    """Run the tasks of a chunk one after the other; a task that fails costs no other."""
    if chunk.code != counting_version():
        return ChunkDone((), 0.0, (Problem(
            "a worker runs other code than the runner; install the same santa_sim, NumPy and Numba "
            "on all machines"
        ),))
    try:
        held = _dataset(chunk)
    except SpecError as error:
        return ChunkDone((), 0.0, error.problems)
    began = time.perf_counter()
    outcomes = tuple(_outcome(task, held, chunk.seeds) for task in chunk.tasks)
    return ChunkDone(outcomes, time.perf_counter() - began)


def _dataset(chunk: Chunk) -> _Held:
    with _making:  # threads share what one of them makes
        if _held and (_held[0].identity, _held[0].level) == (chunk.identity, chunk.level):
            return _held[0]
        _held.clear()
        steps = steps_of(chunk.name, chunk.make)
        _held.append(_Held(chunk.identity, chunk.level, steps, _exact(chunk.level, steps)))
        return _held[0]


def _exact(
    level: str, steps: Sequence[AttentionStep]
) -> Sequence[NDArray[np.float64]] | Exception:
    try:
        return [exact_output(step) for step in steps] if level != "expected" else []
    except FAULTS as error:
        return error


def _outcome(task: Task, held: _Held, seeds: Seeds) -> Outcome:
    if isinstance(held.exact, Exception):
        return Outcome(task.key, None, f"exact attention cannot be computed: {held.exact}")
    try:
        if held.level == "expected":
            result = run_expected(task.method, held.steps)
        else:
            result = run_sampled(task.method, held.steps, held.exact, seeds)
    except FAULTS as error:
        # one impossible point must not cost the user the others; it becomes a row that says why
        return Outcome(task.key, None, str(error))
    return Outcome(task.key, result)
