"""Energy over time: each step spends its joules evenly while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw_models.pipeline.machine import PICOSECONDS
from hw_models.pipeline.report import Timeline


@dataclass(frozen=True)
class PowerCurve:
    """Mean power in equal intervals of a run.

    edges_s: float64 [bins + 1]; power_w: float64 [bins].
    """

    edges_s: NDArray[np.float64]
    power_w: NDArray[np.float64]

    @property
    def energy_j(self) -> float:
        """Integral of power over time."""
        return float(np.sum(self.power_w * np.diff(self.edges_s)))


def power_curve(
    timeline: Timeline, step_energy_j: NDArray[np.float64], static_w: float, bins: int
) -> PowerCurve:
    """Return P(t) = static + Σ over running steps of energy / duration, averaged in `bins` parts.

    step_energy_j: float64 [steps], joules of each step. A step that takes no time spends its energy
    in the interval in which it falls. The integral is Σ step energies + static_w × time, in joules.
    Raises `ValueError` if no time passes or there are fewer than one part.
    """
    total_ps = int(timeline.end.max(initial=0))
    if total_ps == 0 or bins < 1:
        raise ValueError(f"needs a run that takes time and at least one part, got {bins}")
    edges = np.linspace(0.0, total_ps, bins + 1)
    # a step of no length is taken to last for one picosecond, within the run
    start = np.minimum(timeline.start, total_ps - 1).astype(np.float64)
    end = np.maximum(timeline.end, start + 1)
    # energy spent up to each edge: every step is a ramp
    ramps = np.concatenate([start, end])
    slope = step_energy_j / (end - start)
    change = np.concatenate([slope, -slope])
    order = np.argsort(ramps, kind="stable")
    at, power = ramps[order], np.cumsum(change[order])
    spent = np.concatenate([[0.0], np.cumsum(power[:-1] * np.diff(at))])
    spent_at_edges = np.interp(edges, at, spent)
    joules = np.diff(spent_at_edges)
    edges_s = edges / PICOSECONDS
    return PowerCurve(edges_s, joules / np.diff(edges_s) + static_w)
