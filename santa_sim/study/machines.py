"""The machines of a study: accelerators as they are, or one varied in some of its constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hw_models.accelerator import Accelerator
from hw_models.catalogue import load_accelerator
from hw_models.problems import Document, KeyPath, SpecError, did_you_mean, shown
from hw_models.variants import Change, Stack, name_of, stacked, varied
from santa_sim.study.datasets import beside
from santa_sim.study.expand import combinations

MAX_MACHINES = 1_000_000
_KEYS = ("base", "grid", "zip", "list")


@dataclass(frozen=True)
class Machines:
    """An accelerator and its changes; no change at all means the accelerator itself.

    entry: as the study spells it, paths resolved.
    """

    base: Accelerator
    changes: tuple[Change, ...]
    entry: str | dict[str, Any]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names in the result table."""
        if not self.changes:
            return (self.base.name,)
        return tuple(name_of(self.base, change) for change in self.changes)

    def all(self) -> Iterator[Accelerator]:
        """Yield every machine by itself."""
        if not self.changes:
            yield self.base
        for change in self.changes:
            yield varied(self.base, change)

    @cached_property
    def stacks(self) -> tuple[tuple[Stack, list[int]], ...]:
        """All machines at once, with the positions of each stack's machines."""
        if not self.changes:
            return ((Stack((self.base.name,), self.base), [0]),)
        return tuple(stacked(self.base, self.changes))


def machines_of(
    document: Document, at: KeyPath, entry: str | dict[str, Any], folder: Path
) -> Machines:
    """Return what one entry under `accelerators` names; raises `SpecError` where it is wrong.

    folder: that relative paths start from.
    """
    if isinstance(entry, str):
        name = beside(entry, folder, (".yaml", ".yml"))
        return Machines(load_accelerator(name), (), name)
    for key in entry:
        if key not in _KEYS:
            raise SpecError(document.problem((*at, key), f"unknown key{did_you_mean(key, _KEYS)}"))
    if not isinstance(entry.get("base"), str) or len(entry) < 2:
        raise SpecError(document.problem(
            at, "must be a name, or a mapping with base and a grid, zip or list; got "
            + shown(entry),
        ))
    name = beside(entry["base"], folder, (".yaml", ".yml"))
    base = load_accelerator(name)
    changes = []
    for choices in combinations(document, at, MAX_MACHINES):
        change: dict[str, Any] = {}
        for path, value, origin in choices:
            dotted = ".".join(map(str, path))
            if dotted in change:
                raise SpecError(document.problem(origin, f"'{dotted}' is set twice"))
            change[dotted] = value
        changes.append(change)
    _check(document, at, base, changes)
    return Machines(base, tuple(changes), {**entry, "base": name})


def _check(
    document: Document, at: KeyPath, base: Accelerator, changes: list[dict[str, Any]]
) -> None:
    """Try each number by itself, so that a fault is known before the work and named once."""
    if len({tuple(change) for change in changes}) > 1:
        raise SpecError(document.problem(at, "every entry of a list must set the same keys"))
    for path in changes[0]:
        for _, value in dict.fromkeys(_typed(change[path]) for change in changes):
            try:
                varied(base, {path: value})
            except SpecError as error:
                raise SpecError(document.problem(at, p.message if not p.path else
                                                 f"{path}: {p.message}")
                                for p in error.problems) from None


def _typed(value: Any) -> tuple[type, Any]:
    """Return a value that can be a key, with its type: 1000.0 is no 1000."""
    known = isinstance(value, str | int | float | bool | None)
    return type(value), value if known else shown(value)
