"""What any time model returns, and the shape of a time model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hw_models.accelerator import Accelerator
from hw_models.ledger import Phase
from hw_models.lowering import Lowered
from hw_models.quantity import Interval

MEMORY = "memory"
"""Name of main memory among the resources; the others are the arithmetic's units."""


@dataclass(frozen=True)
class TimeReport:
    """Time of one lowered ledger.

    time_s: with perfect overlap of all resources; no_overlap_time_s: with none. Both in seconds,
    with the range that the constants imply.
    bound: the resource that takes longest at nominal constants, `none` if there is no work.
    busy_s: phase -> resource -> seconds for which the resource works.
    utilisation: resource -> nominal busy time over nominal `time_s`, within 0..1.
    """

    time_s: Interval
    no_overlap_time_s: Interval
    bound: str
    busy_s: Mapping[Phase, Mapping[str, Interval]]
    utilisation: Mapping[str, float]


class TimeModel(Protocol):
    """Turns lowered work into time on an accelerator; changes no count."""

    def __call__(self, lowered: Lowered, accelerator: Accelerator) -> TimeReport:
        """Return the time of `lowered` on `accelerator`."""
        ...
