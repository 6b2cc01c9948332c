"""Errors of many points in four numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class ErrorSummary:
    """Absolute relative errors |predicted / measured − 1|; reason: why there are none."""

    n: int
    median: float | None = None
    p90: float | None = None
    max: float | None = None
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what the command prints: n, median, p90 and max, or n = 0 and the reason."""
        if not self.n:
            return {"n": 0, "reason": self.reason}
        return {"n": self.n, "median": self.median, "p90": self.p90, "max": self.max}


def summarise(errors: Sequence[float], reason: str = "no points") -> ErrorSummary:
    """Summarise signed relative errors."""
    if not errors:
        return ErrorSummary(0, reason=reason)
    found = np.abs(np.asarray(errors, dtype=np.float64))
    return ErrorSummary(len(errors), float(np.median(found)), float(np.quantile(found, 0.9)),
                        float(found.max()))
