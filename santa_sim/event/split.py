"""Deals the counts of a whole decode step out to its steps, to the last operation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hw_models.assignment import UnitWork
from hw_models.entries import OpKind, Phase


def apportioned(total: int, weights: Sequence[int]) -> list[int]:
    """Return whole shares of `total` in proportion to `weights`, with the sum `total`.

    share_i = ⌊total·W_i/W⌋ − ⌊total·W_{i−1}/W⌋, W_i the sum of the first i weights, W of all.
    Raises `ValueError` if there is something to share and no weight.
    """
    whole = sum(weights)
    if whole == 0:
        if total:
            raise ValueError(f"{total} operations, and no step that could do them")
        return [0] * len(weights)
    shares, passed, given = [], 0, 0
    for weight in weights:
        passed += weight
        upto = total * passed // whole
        shares.append(upto - given)
        given = upto
    return shares


@dataclass
class Shares:
    """Which steps do the operations of a phase, and in which proportion.

    An operation goes by the weights of its (phase, kind) where there are any, else by those of its
    phase.
    """

    steps: dict[tuple[Phase, OpKind | None], tuple[list[int], list[int]]] = field(
        default_factory=dict
    )

    def add(self, phase: Phase, step: int, weight: int, *kinds: OpKind) -> None:
        """Let a step do a share of the given kinds of a phase, or of all without a rule."""
        for kind in kinds or (None,):
            steps, weights = self.steps.setdefault((phase, kind), ([], []))
            steps.append(step)
            weights.append(int(weight))

    def dealt(self, work: Iterable[UnitWork], count: int) -> list[dict[str, int]]:
        """Return unit -> operations for each of `count` steps; sums are those of `work`.

        Raises `ValueError` for work that no step can do.
        """
        found: list[dict[str, int]] = [{} for _ in range(count)]
        for item in work:
            rule = self.steps.get((item.op.phase, item.op.kind))
            if rule is None or not sum(rule[1]):
                rule = self.steps.get((item.op.phase, None), ([], []))
            steps, weights = rule
            for step, share in zip(steps, apportioned(item.count, weights), strict=True):
                if share:
                    own = found[step]
                    own[item.unit] = own.get(item.unit, 0) + share
        return found
