"""Machines that differ from a catalogue machine in a few constants: one by one, or all at once.

A change maps a dotted path to a number. At a constant it is the new nominal value, and the range
keeps its proportions; at a whole number, such as `buffer.capacity_bytes`, it takes its place. What
describes the machine in time (`pipeline`, `memory.dram`) stays with the unchanged machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from pydantic import BaseModel, ValidationError

from hw_models.accelerator import Accelerator
from hw_models.consistency import faults
from hw_models.problems import Problem, SpecError, did_you_mean, shown
from hw_models.quantity import Constant, Interval, Intervals

Change = Mapping[str, float]


def varied(base: Accelerator, change: Change) -> Accelerator:
    """Return `base` with a change made, its name saying so.

    Raises `SpecError` naming the path for one that does not exist, and for a number that the
    constant cannot have.
    """
    data = base.model_dump(exclude_none=True)
    data.pop("pipeline", None)
    data["memory"].pop("dram", None)
    for path, value in change.items():
        _set(base, data, path, value)
    data["name"] = name_of(base, change)
    data["title"] = f"{base.title}, {_words(change)}"
    try:
        machine = Accelerator.model_validate(data)
    except ValidationError as error:
        raise SpecError(
            Problem(f"{_words(change)}: {fault['msg']}", path=tuple(fault["loc"]))
            for fault in error.errors()
        ) from None
    for kind, found in faults(machine).items():
        if found:
            raise kind(Problem(message, path=path) for path, message in found)
    return machine


def name_of(base: Accelerator, change: Change) -> str:
    """Return the name of a changed machine, which its changes tell apart."""
    return f"{base.name} {_words(change)}"


def _words(change: Change) -> str:
    return " ".join(f"{path}={value:.12g}" for path, value in change.items())


def _set(base: Accelerator, data: dict[str, Any], path: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SpecError(Problem(f"must be a number, got {shown(value)}", path=(path,)))
    *above, last = path.split(".")
    node: Any = data
    for part in above:
        node = _step(base, node, part, path)
    found = _step(base, node, last, path)
    if isinstance(found, dict) and "value" in found and "unit" in found:
        old = found["value"]
        if not old > 0:
            raise SpecError(Problem("cannot be varied: its nominal value is 0", path=(path,)))
        low, nominal, high = map(
            float, _scaled(found["low"], old, found["high"], np.float64(value))
        )
        node[last] = {
            **found, "value": nominal, "low": low, "high": high, "confidence": "judgement",
            "source": f"varied in this study; unchanged: {old:g}, {found['source']}",
        }
    elif isinstance(found, int | float) and not isinstance(found, bool):
        node[last] = value
    else:
        raise SpecError(Problem(
            f"holds no number of {base.name} that could be varied, but {shown(found)}",
            path=(path,),
        ))


def _scaled(low: float, old: float, high: float, value: Any) -> tuple[Any, Any, Any]:
    """Return the range at new nominal values, [machines]; rounding never turns it round."""
    ratio = value / old
    return np.minimum(low * ratio, value), value, np.maximum(high * ratio, value)


def _step(base: Accelerator, node: Any, part: str, path: str) -> Any:
    if not isinstance(node, dict) or part not in node:
        valid = node if isinstance(node, dict) else {}
        raise SpecError(Problem(
            f"{base.name} has no '{part}' there{did_you_mean(part, map(str, valid))}", path=(path,)
        ))
    return node[part]


@dataclass(frozen=True)
class Stack:
    """Machines of one structure, as one accelerator whose varied constants are `Intervals`.

    names: of the machines, [machines]. accelerator: for functions that only calculate with it.
    """

    names: tuple[str, ...]
    accelerator: Accelerator


class _Many(Constant):
    """A constant whose interval has an element per machine."""

    many: Any = None

    @property
    def interval(self) -> Interval:
        """The constant on all machines."""
        return Intervals(*self.many)


def stacked(base: Accelerator, changes: Sequence[Change]) -> Iterator[tuple[Stack, list[int]]]:
    """Yield stacks of changed machines, with the indices of their changes; all have one set of
    paths.

    A combination is not checked again if each of its numbers is right alone. Raises like `varied`.
    """
    paths = tuple(changes[0])
    for path in paths:
        for _, value in dict.fromkeys((type(c[path]), c[path]) for c in changes):
            varied(base, {path: value})
    first = varied(base, changes[0])
    plain = [p for p in paths if not isinstance(_found(base, p), Constant)]
    groups: dict[tuple[float, ...], list[int]] = {}
    for i, change in enumerate(changes):
        groups.setdefault(tuple(change[p] for p in plain), []).append(i)
    for values, indices in groups.items():
        machine: Any = varied(first, dict(zip(plain, values, strict=True))) if plain else first
        for path in paths:
            if path in plain:
                continue
            constant = _found(base, path)
            column = np.array([float(changes[i][path]) for i in indices])
            many = _scaled(constant.low, constant.value, constant.high, column)
            machine = _with(machine, path.split("."), _many(many))
        names = tuple(name_of(base, changes[i]) for i in indices)
        yield Stack(names, machine), indices


def _many(ends: tuple[Any, Any, Any]) -> _Many:
    construct: Any = _Many.model_construct  # the range is all that calculations ask for
    return cast(_Many, construct(many=ends))


def _found(base: Any, path: str) -> Any:
    node = base
    for part in path.split("."):
        node = node[_key(node, part)] if isinstance(node, Mapping) else getattr(node, part)
    return node


def _key(node: Mapping[Any, Any], part: str) -> Any:
    return next(key for key in node if str(key) == part)


def _with(node: Any, path: list[str], leaf: Any) -> Any:
    """Return a copy of nested models and mappings with a leaf replaced, nothing validated."""
    if not path:
        return leaf
    if isinstance(node, Mapping):
        key = _key(node, path[0])
        return {**node, key: _with(node[key], path[1:], leaf)}
    assert isinstance(node, BaseModel)  # noqa: S101  what `_set` has walked
    return node.model_copy(update={path[0]: _with(getattr(node, path[0]), path[1:], leaf)})
