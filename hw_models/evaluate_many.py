"""Costs of one ledger on many machines at once, bit for bit those of `evaluate` on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hw_models.energy import summed
from hw_models.ledger import Ledger
from hw_models.lowering import Lowered, Misfit, lower
from hw_models.quantity import Interval, Intervals
from hw_models.roofline import resource_times
from hw_models.variants import Stack


@dataclass(frozen=True)
class Costs:
    """Costs on the machines of a stack; every interval's ends are float64 [machines].

    lowered: as all of them execute it. time_s, no_overlap_time_s: seconds. bound: names of the
    resources that take longest, [machines]. energy_j: account -> joules.
    """

    lowered: Lowered
    time_s: Interval
    no_overlap_time_s: Interval
    bound: NDArray[Any]
    energy_j: Mapping[str, Interval]


def evaluate_many(ledger: Ledger, stack: Stack) -> Costs | Misfit:
    """Return what a ledger costs on every machine of a stack, or why it runs on none of them.

    Raises like `hw_models.evaluate.evaluate`, and `ValueError` where a cost is not finite.
    """
    machine, size = stack.accelerator, len(stack.names)
    lowered = lower(ledger, machine)
    if isinstance(lowered, Misfit):
        return lowered
    _, per_resource, total = resource_times(lowered, machine)
    names = np.array([*per_resource] or ["none"])
    times = [_full(time, size) for time in per_resource.values()] or [_full(Interval.exact(0.0),
                                                                            size)]
    low, nominal, high = (
        np.stack([getattr(time, end) for time in times]) for end in ("low", "nominal", "high")
    )
    time_s = _full(cast(Any, Intervals)(low.max(axis=0), nominal.max(axis=0), high.max(axis=0)),
                   size)
    energy_j = {
        account: _full(summed(lowered, machine, account, time_s)[1], size)
        for account in machine.accounts
    }
    costs = Costs(
        lowered, time_s, _full(total, size), names[nominal.argmax(axis=0)], energy_j
    )
    for interval in (costs.time_s, costs.no_overlap_time_s, *energy_j.values()):
        if not np.isfinite(interval.high).all():
            raise ValueError(f"a cost on a machine like {machine.name} is not finite")
    return costs


def _full(interval: Interval, size: int) -> Intervals:
    """Return an interval with an element per machine, also where nothing of it varies."""
    ends: tuple[Any, ...] = interval.low, interval.nominal, interval.high
    low, nominal, high = (np.broadcast_to(np.asarray(end, np.float64), (size,)) for end in ends)
    return cast(Intervals, cast(Any, Intervals)(low, nominal, high))
