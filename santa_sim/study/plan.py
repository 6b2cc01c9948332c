"""The points of a study with their identities, and which of them a log holds already."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from santa_sim.study.chunks import Batch, task_seconds
from santa_sim.study.identity import counts_identity, study_identity
from santa_sim.study.load import LoadedStudy
from santa_sim.study.output import study_text
from santa_sim.study.point import is_random
from santa_sim.study.rows import Point
from santa_sim.study.spec import Study
from santa_sim.study.worker import Task


@dataclass(frozen=True)
class Planned:
    """A point with the identity of its counts, and a guess of its seconds on one core."""

    point: Point
    key: str
    seconds: float


@dataclass(frozen=True)
class Plan:
    """All points of a study in order.

    identity: of everything that a finished run of it would write.
    """

    loaded: LoadedStudy
    points: tuple[Planned, ...]
    identity: str

    def missing(self, known: Container[str]) -> tuple[Batch, ...]:
        """Return the tasks whose results are not known, each once, dataset by dataset."""
        asked: set[str] = set()
        tasks: dict[int, list[Task]] = {}
        methods = len(self.loaded.study.methods)
        for planned in self.points:
            if planned.key not in known and planned.key not in asked:
                asked.add(planned.key)
                own = tasks.setdefault(planned.point.number // methods, [])
                own.append(Task(planned.key, planned.point.method))
        return tuple(
            Batch(self.loaded.datasets[i], tuple(own)) for i, own in tasks.items()
        )


def plan(loaded: LoadedStudy) -> Plan:
    """Return the points of a study; computes nothing but hashes."""
    points = tuple(_points(loaded))
    keys = (planned.key for planned in points)
    return Plan(
        loaded, points, study_identity(study_text(loaded.study), keys, loaded.accelerators)
    )


def _points(loaded: LoadedStudy) -> Iterator[Planned]:
    study = loaded.study
    methods = study.methods
    for i, dataset in enumerate(loaded.datasets):
        for j, method in enumerate(methods):
            key = counts_identity(dataset.identity, method, study.level, sampling(study, method))
            yield Planned(
                Point(i * len(methods) + j, dataset, method), key,
                task_seconds(dataset.shape, method, study.level, study.seeds),
            )


def sampling(study: Study, method: Any) -> dict[str, Any]:
    """Return what decides how often a method is run; nothing where chance decides nothing."""
    if study.level == "expected" or not is_random(method):
        return {}
    seeds = study.seeds
    found: dict[str, Any] = {"first": seeds.first, "count": seeds.count}
    if seeds.precision is not None:
        found |= {"precision": seeds.precision, "at_most": seeds.cap}
    return found
