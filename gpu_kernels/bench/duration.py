"""How long a bench run takes, said before it starts."""

from __future__ import annotations

from gpu_kernels.bench.config import BenchConfig
from gpu_kernels.board.steady import SETTLE_S

START_S = 10.0
POINT_S = 1.0
"""Caches of one size and input, filled and attended to exactly."""
COMPILE_S = 4.0
"""A kernel of ours in a geometry that it has not run in."""
TIMED_S = 0.2
AROUND_WINDOW_S = 0.4
"""Recording the calls of a window, and letting the last ones end."""


def energy_points(config: BenchConfig) -> int:
    """Return how many points the run reads the board's energy at."""
    return sum(_calls(part) for part in config.parts() if part.energy is not None)


def expected_seconds(config: BenchConfig) -> float:
    """Return about how long the run takes on a datacentre GPU, compilation included."""
    seconds = START_S
    for part in config.parts():
        seconds += len(part.sizes) * len(part.inputs) * POINT_S + len(part.kernels) * COMPILE_S
        seconds += _calls(part) * len(part.l2) * TIMED_S
        if part.energy is not None:
            seconds += _calls(part) * (SETTLE_S + part.energy.window_s + AROUND_WINDOW_S)
    return seconds


def _calls(part: BenchConfig) -> int:
    return len(part.sizes) * len(part.inputs) * (len(part.kernels) + len(part.peers))
