"""Groups the tasks of a study into chunks that are worth the way to a worker."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from santa_sim.methods.spec import BernoulliScores, scores_of
from santa_sim.study.datasets import Dataset
from santa_sim.study.identity import counting_version
from santa_sim.study.point import is_random
from santa_sim.study.shape import Shape
from santa_sim.study.spec import Seeds
from santa_sim.study.worker import Chunk, ChunkDone, Task

CHUNK_SECONDS = 0.5
"""Handing a chunk over costs milliseconds; much more than this would delay a stop and a resume."""

_CALL_S = 4e-4
_SCORE_S = 0.25e-9
_EXPECTED_S = 30e-9
_DIGIT_S = 2e-9
"""Seconds per call, per (head, key, feature), per (head, key) of the closed forms, and per ternary
digit, on one 2026 server core; the run itself then corrects their scale."""


def task_seconds(shape: Shape, method: Any, level: str, seeds: Seeds) -> float:
    """Return a rough estimate of what a task takes on one core; seconds."""
    # with a precision, between the first look and the last: their geometric mean
    often = seeds.count if seeds.precision is None else round((seeds.count * seeds.cap) ** 0.5)
    runs = shape.steps * (often if is_random(method) and level != "expected" else 1)
    heads = shape.simulated_qo_heads
    pairs = heads * shape.rows
    scores = scores_of(method)
    digits = heads * shape.head_dim * shape.batch * (
        scores.trials if isinstance(scores, BernoulliScores) and level != "expected" else 0
    )
    per_pair = _SCORE_S * shape.head_dim + (_EXPECTED_S if level == "expected" else 0.0)
    return runs * (_CALL_S * shape.batch + per_pair * pairs + _DIGIT_S * digits)


@dataclass(frozen=True)
class Batch:
    """The tasks that a dataset still needs, in the order of the study."""

    dataset: Dataset
    tasks: tuple[Task, ...]


class Chunker:
    """Hands out chunks of about `CHUNK_SECONDS`, by an estimate that learns from finished ones."""

    def __init__(self, batches: Sequence[Batch], level: str, seeds: Seeds) -> None:
        self._batches = deque((b.dataset, deque(b.tasks)) for b in batches if b.tasks)
        self._level, self._seeds = level, seeds
        self._shapes = {b.dataset.identity: b.dataset.shape for b in batches}
        self._factors: deque[float] = deque(maxlen=7)

    def following(self) -> Chunk | None:
        """Return the next chunk, None after the last."""
        if not self._batches:
            return None
        dataset, left = self._batches[0]
        factor = median(self._factors) if self._factors else 1.0
        tasks: list[Task] = []
        seconds = 0.0
        while left and (not tasks or seconds < CHUNK_SECONDS):
            tasks.append(left.popleft())
            seconds += factor * self._estimate(dataset.shape, tasks[-1])
        if not left:
            self._batches.popleft()
        return Chunk(
            dataset.name, dataset.identity, dataset.make, self._level, self._seeds, tuple(tasks),
            counting_version(),
        )

    def learn(self, chunk: Chunk, done: ChunkDone) -> None:
        """Correct the estimate by what a chunk really took."""
        shape = self._shapes[chunk.identity]
        estimate = sum(self._estimate(shape, task) for task in chunk.tasks)
        if done.outcomes and estimate > 0:
            self._factors.append(done.seconds / estimate)

    def _estimate(self, shape: Shape, task: Task) -> float:
        return task_seconds(shape, task.method, self._level, self._seeds)
