"""Measures one point and makes its row of the file."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, fields
from typing import Any

from gpu_kernels.bench.timing import TIMER, Stopwatch
from gpu_kernels.board.nvml import Meter
from gpu_kernels.board.steady import (
    STEADY_TIMER,
    BoardReading,
    idle_reading,
    power_w,
    steady_reading,
)
from gpu_kernels.machine_code import disassembled, loop_instructions
from gpu_kernels.microbench.lab import Lab
from gpu_kernels.microbench.plan import REPEATS
from gpu_kernels.microbench.setting import Probe, Setting

PARAMETERS = [field.name for field in fields(Setting)]
RESULTS = [
    "registers", "shared_bytes", "loop_instructions", "time_us", "time_us_p20", "time_us_p80",
    "repeats", "window_s", "power_counter_w", "power_integral_w", "memory_power_w", "idle_w",
    "energy_counter_mj", "energy_integral_mj", "dynamic_mj", "running_sm_clock_mhz",
    "running_memory_clock_mhz", "temperature_c", "held_down", "note", "timer",
]
"""registers: per thread, shared_bytes: per program, loop_instructions: of a warp per turn of the
kernel's loop, as compiled. time_us: of one call; its percentiles are blank where only the mean
of a window is known.
energy_…_mj: of one call; dynamic_mj: counter, or integral without one, less idle_w × time.
held_down: NVML's bit mask of reasons for a lower clock."""


@dataclass
class Bench:
    """What measures: the device, its stopwatch and its meter; remembers the idle power."""

    lab: Lab
    watch: Stopwatch
    meter: Meter
    idle_w: float | None = None

    def row(self, probe: Probe) -> dict[str, Any]:
        """Return the point's parameters and results, as text or numbers."""
        row: dict[str, Any] = dict.fromkeys(PARAMETERS + RESULTS, "")
        row |= probe.setting.as_text()
        if probe.setting.kernel == "idle":
            found = idle_reading(self.meter)
            if self.idle_w is None:
                self.idle_w = power_w(found)
            return row | self._board(found) | {"timer": "host clock"}
        call = probe.make(self.lab)
        row |= _resources(call())
        if probe.energy:
            if self.idle_w is None:
                self.idle_w = power_w(idle_reading(self.meter))
            time_s, calls, found = steady_reading([call], self.meter)
            return (row | self._board(found) | self._joules(found, time_s)
                    | {"time_us": round(time_s * 1e6, 3), "repeats": calls, "timer": STEADY_TIMER})
        timing = self.watch.measure(call, cold=probe.setting.l2 == "cold", repeats=REPEATS)
        after = self.meter.sample()
        return row | {
            "time_us": round(timing.time_s * 1e6, 3),
            "time_us_p20": round(timing.time_s_p20 * 1e6, 3),
            "time_us_p80": round(timing.time_s_p80 * 1e6, 3), "repeats": timing.repeats,
            "running_sm_clock_mhz": _rounded(after.sm_clock_mhz, 0),
            "running_memory_clock_mhz": _rounded(after.memory_clock_mhz, 0),
            "temperature_c": _rounded(after.temperature_c, 0),
            "held_down": _rounded(after.held_down, 0), "timer": TIMER,
        }

    def _board(self, found: BoardReading) -> dict[str, Any]:
        return {
            "window_s": _rounded(found.window_s, 3),
            "power_counter_w": _rounded(found.counter_w, 2),
            "power_integral_w": _rounded(found.integral_w, 2),
            "memory_power_w": _rounded(found.memory_power_w, 2),
            "idle_w": _rounded(self.idle_w, 2),
            "running_sm_clock_mhz": _rounded(found.sm_clock_mhz, 1),
            "running_memory_clock_mhz": _rounded(found.memory_clock_mhz, 1),
            "temperature_c": _rounded(found.temperature_c, 1),
            "held_down": _rounded(found.held_down, 0), "note": found.note,
        }

    def _joules(self, found: BoardReading, time_s: float) -> dict[str, Any]:
        power = power_w(found)
        dynamic = None if power is None or self.idle_w is None else power - self.idle_w
        return {
            name: "" if watts is None else round(watts * time_s * 1e3, 6)
            for name, watts in (("energy_counter_mj", found.counter_w),
                                ("energy_integral_mj", found.integral_w), ("dynamic_mj", dynamic))
        }


def _rounded(value: float | None, digits: int) -> float | int | str:
    if value is None:
        return ""
    return round(value, digits) if digits else round(value)


def _resources(handle: Any) -> dict[str, Any]:
    """Return what is known of a launched Triton kernel's code and of the room that it needs."""
    registers = getattr(handle, "n_regs", None)
    if registers is None:
        return {}
    return {"registers": registers, "shared_bytes": handle.metadata.shared,
            "loop_instructions": _loop(handle)}


def _loop(handle: Any) -> float | str:
    try:
        return _rounded(loop_instructions(disassembled(handle.asm["cubin"])), 2)
    except (OSError, subprocess.SubprocessError):
        return ""  # Triton came without the tool
