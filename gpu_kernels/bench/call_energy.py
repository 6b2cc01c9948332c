"""Energy of a bench point: its call repeated for seconds on caches larger than the L2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpu_kernels.board.nvml import Meter
from gpu_kernels.board.steady import (
    BoardReading,
    idle_reading,
    power_w,
    steady_reading,
)

L2_MULTIPLE = 8
"""What repeated calls read before they read it again is at least so many times the L2: even where
an L2 evicts lines at random, fewer than 1 in 1,000 reads then finds its line still there."""


@dataclass(frozen=True)
class CallEnergy:
    """Energy of one call, mean over a window; None where the board does not say, `note` says why.

    time_us: of one call. buffers: copies of the caches that the calls take in turn. calls: in the
    window; window_s: that was read. power_…_w: of the board by its energy counter and by the
    integral over its power readings; idle_w: before the first point, nothing running.
    energy_…_mj: of one call; dynamic_…_mj: of it above idle. Clocks, temperature: means.
    held_down: NVML's bit mask of reasons for a lower clock (4: power limit).
    """

    time_us: float
    buffers: int
    calls: int
    window_s: float | None
    power_counter_w: float | None
    power_integral_w: float | None
    memory_power_w: float | None
    idle_w: float | None
    energy_counter_mj: float | None
    energy_integral_mj: float | None
    dynamic_counter_mj: float | None
    dynamic_integral_mj: float | None
    running_sm_clock_mhz: float | None
    running_memory_clock_mhz: float | None
    temperature_c: float | None
    held_down: int | None
    note: str


class EnergyBench:
    """Measures energy; reads the idle board once, before anything else runs.

    l2_bytes: of the device, which says how many copies of a cache are enough.
    """

    def __init__(self, meter: Meter, l2_bytes: int) -> None:
        self._meter = meter
        self._l2_bytes = l2_bytes
        self._idle = idle_reading(meter)

    @property
    def idle_w(self) -> float | None:
        """Power of the idle board, W."""
        return power_w(self._idle)

    def idle_again(self) -> BoardReading:
        """Return a reading of the idle board now, to be set beside the first."""
        return idle_reading(self._meter)

    def buffers(self, least_bytes: int) -> int:
        """Return how many copies of a cache are taken in turn; least_bytes: read of each."""
        return -(-L2_MULTIPLE * self._l2_bytes // least_bytes)

    def measure(self, calls: Sequence[Callable[[], Any]], window_s: float) -> CallEnergy:
        """Return the energy of one call, from `calls` taken in turn for `window_s` seconds."""
        time_s, count, found = steady_reading(calls, self._meter, window_s)

        def joules(watts: float | None, idle_w: float | None = 0.0) -> float | None:
            if watts is None or idle_w is None:
                return None
            return _rounded((watts - idle_w) * time_s * 1e3, 6)

        return CallEnergy(
            time_us=round(time_s * 1e6, 3), buffers=len(calls), calls=count,
            window_s=_rounded(found.window_s, 3),
            power_counter_w=_rounded(found.counter_w, 2),
            power_integral_w=_rounded(found.integral_w, 2),
            memory_power_w=_rounded(found.memory_power_w, 2), idle_w=_rounded(self.idle_w, 2),
            energy_counter_mj=joules(found.counter_w), energy_integral_mj=joules(found.integral_w),
            dynamic_counter_mj=joules(found.counter_w, self.idle_w),
            dynamic_integral_mj=joules(found.integral_w, self.idle_w),
            running_sm_clock_mhz=_rounded(found.sm_clock_mhz, 1),
            running_memory_clock_mhz=_rounded(found.memory_clock_mhz, 1),
            temperature_c=_rounded(found.temperature_c, 1),
            held_down=found.held_down, note=found.note,
        )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
