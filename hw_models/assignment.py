"""Which unit executes which operation."""

from __future__ import annotations

from dataclasses import dataclass

from hw_models.arithmetic import Arithmetic
from hw_models.ledger import Ledger, OpKey, OpKind, Phase


@dataclass(frozen=True)
class UnitWork:
    """`count` operations of one kind in one phase, executed by one unit."""

    unit: str
    op: OpKey
    count: int


def assign(
    ledger: Ledger, arithmetic: Arithmetic
) -> tuple[tuple[UnitWork, ...], dict[OpKey, int]]:
    """Give every operation to the first unit that serves it.

    A unit that is `only_multiply_add` takes at most as many adds in a phase as it has multiplies
    there; the rest go to the next unit. Returns the work, and what no unit took.
    """
    work: list[UnitWork] = []
    left: dict[OpKey, int] = {}
    products: dict[tuple[str, Phase], int] = {}
    # multiplies first: they decide how many adds a multiply-add unit takes
    for op in sorted(ledger.ops, key=lambda op: op.kind is not OpKind.MULTIPLY):
        count = ledger.ops[op]
        for name, unit in arithmetic.units.items():
            if count == 0 or not unit.serves(op.phase, op.kind, op.dtype):
                continue
            taken = count
            if unit.only_multiply_add and op.kind is not OpKind.MULTIPLY:
                taken = min(count, products.get((name, op.phase), 0))
                products[name, op.phase] = products.get((name, op.phase), 0) - taken
            elif op.kind is OpKind.MULTIPLY:
                products[name, op.phase] = products.get((name, op.phase), 0) + count
            if taken:
                work.append(UnitWork(name, op, taken))
            count -= taken
        if count:
            left[op] = count
    return tuple(work), dict(sorted(left.items()))
