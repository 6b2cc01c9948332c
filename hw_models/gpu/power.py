"""Power of a steady load, and the time that the board's power limit stretches it to."""

from __future__ import annotations

from dataclasses import dataclass

from hw_models.gpu.calibration import GpuCalibration


@dataclass(frozen=True)
class SteadyLoad:
    """A load that repeats for seconds: time_s and energy_j of one call, power_w of the board."""

    time_s: float
    energy_j: float
    power_w: float


def steady(
    calibration: GpuCalibration, time_s: float, memory_bytes: float, l2_bytes: float,
    operation_j: float = 0.0,
) -> SteadyLoad:
    """Return time and energy of one call of a load that runs for seconds.

    dynamic = active power × time + memory bytes × 8 × pJ/bit + bytes through L2 × 8 × pJ/bit
    + operation_j; joules = idle × time + dynamic. Where that needs more than the limit, clocks fall
    until power meets it: with the same joules for bytes and operations,
    time = (bytes' and operations' joules) / (limit − idle − active).
    time_s: of one call at full clock; bytes: of one call, those through L2 including those from
    memory. Raises `ValueError` if the limit leaves nothing for work.
    """
    v = calibration.values()
    work = 8e-12 * (memory_bytes * v["memory_energy"] + l2_bytes * v["l2_energy"]) + operation_j
    base = v["idle_power"] + v["active_power"]
    if v["power_limit"] <= base:
        raise ValueError(f"the power limit of {v['power_limit']} W leaves nothing above {base} W")
    time = max(time_s, work / (v["power_limit"] - base))
    energy = base * time + work
    return SteadyLoad(time, energy, energy / time if time else base)
