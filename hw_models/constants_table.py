"""Every constant behind an accelerator's numbers, one row each, for a table of sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import BaseModel

from hw_models.accelerator import Accelerator
from hw_models.arithmetic import OpEnergy, Unit
from hw_models.boundary import Boundary
from hw_models.ledger import Dtype, OpKind
from hw_models.quantity import UNVERIFIED, Constant


@dataclass(frozen=True)
class ConstantRow:
    """One constant: its dotted path in the accelerator, range, unit, boundary and source.

    boundary: None for what is no energy or power. unverified: from memory or a judgement.
    """

    path: str
    value: float
    low: float
    high: float
    unit: str
    boundary: Boundary | None
    source: str
    confidence: str
    facts: tuple[str, ...]
    unverified: bool


def constants_used(accelerator: Accelerator) -> list[ConstantRow]:
    """Return a row per constant that can enter a result, in the order of the file.

    Table entries appear once for each unit that executes the operation; entries of a shared
    table for operations that no unit executes are left out.
    """
    return [
        ConstantRow(
            path=".".join(path), value=constant.value, low=constant.low, high=constant.high,
            unit=constant.unit, boundary=boundary, source=constant.source,
            confidence=constant.confidence, facts=constant.facts,
            unverified=constant.confidence in UNVERIFIED,
        )
        for path, constant, boundary in _accelerator_constants(accelerator)
    ]


Found = Iterator[tuple[tuple[str, ...], Constant, Boundary | None]]


def _accelerator_constants(accelerator: Accelerator) -> Found:
    for part in ("memory", "buffer", "static", "pipeline"):
        yield from _walk(getattr(accelerator, part), (part,), None)
    arithmetic = accelerator.arithmetic
    for name, unit in arithmetic.units.items():
        path = ("arithmetic", "units", name)
        yield (*path, "rate"), unit.rate, None
        for account in accelerator.accounts:
            cost = arithmetic.energy_of(name, account)
            if cost is not None:
                yield from _op_constants(unit, cost, (*path, "energy", account))


def _op_constants(unit: Unit, cost: OpEnergy, path: tuple[str, ...]) -> Found:
    for kind, dtypes in unit.executes.items():
        for dtype in dtypes:
            entry = cost.table.ops[OpKind(kind)][Dtype(dtype)]
            yield (*path, "ops", kind, dtype), entry, cost.table.boundary
    if cost.overhead:
        yield (*path, "overhead", "factor"), cost.overhead.factor, cost.overhead.boundary


def _walk(node: object, path: tuple[str, ...], boundary: Boundary | None) -> Found:
    if isinstance(node, Constant):
        yield path, node, boundary
    elif isinstance(node, BaseModel):
        inner = getattr(node, "boundary", boundary)
        for name in type(node).model_fields:
            yield from _walk(getattr(node, name), (*path, name), inner)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _walk(value, (*path, str(key)), boundary)
