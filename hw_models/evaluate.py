"""A ledger on an accelerator: what it does, how long it takes, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw_models.accelerator import Accelerator
from hw_models.energy import EnergyReport, energy
from hw_models.ledger import Ledger
from hw_models.lowering import Lowered, Misfit, lower
from hw_models.roofline import roofline
from hw_models.timing import TimeModel, TimeReport


@dataclass(frozen=True)
class Evaluation:
    """Counts, time, and energy in every account of the accelerator."""

    lowered: Lowered
    time: TimeReport
    energy: Mapping[str, EnergyReport]


def evaluate(
    ledger: Ledger, accelerator: Accelerator, time_model: TimeModel = roofline
) -> Evaluation | Misfit:
    """Return what a ledger costs on an accelerator, or the `Misfit` if it cannot run there.

    Lowers the ledger, times it with `time_model`, and adds energy up in each account. Static
    energy uses the time with perfect overlap. Raises `SpecError` where the accelerator charges
    nothing for needed work in some account, `OverflowError` when a count leaves int64.
    """
    lowered = lower(ledger, accelerator)
    if isinstance(lowered, Misfit):
        return lowered
    time = time_model(lowered, accelerator)
    return Evaluation(
        lowered,
        time,
        {name: energy(lowered, accelerator, name, time.time_s) for name in accelerator.accounts},
    )
