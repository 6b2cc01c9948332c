"""Energy of launches that repeat for seconds, and the clock that the power limit leaves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hw_models.gpu.calibration import GpuCalibration
from hw_models.gpu.launch import KernelLaunch
from hw_models.gpu.timing import GpuTiming

PAGE_BYTES = 1024
"""What memory opens at a time: a row of an HBM pseudo-channel (JESD238). A long run opens each
page once; a row by index opens one for itself."""
LOWEST_CLOCK = 0.2
"""Of the full clock: NVIDIA's boards go no lower under load (345 of 1980 MHz on an H200)."""
STEPS = 60
"""Halvings of the clock's range: far below the 15 MHz in which boards move it."""
FOLLOWS_CLOCK = ("clock", "l2_bandwidth", "multiprocessor_rate", "line_rate")
"""Rates of the time model that are per cycle of the multiprocessors or of L2."""


@dataclass(frozen=True)
class Work:
    """Joules of launches at full clock: memory_j of main memory, core_j of L2 and everything
    above it. Only core_j falls with the clock, by the voltage that goes with it.
    """

    memory_j: float
    core_j: float


@dataclass(frozen=True)
class SteadyLoad:
    """Launches that repeat for seconds: time_s and energy_j of one call, power_w of the board.

    clock: of the multiprocessors, over the full one; below 1 the power limit holds it down.
    work: joules of one call at full clock, without idle and active power.
    """

    time_s: float
    energy_j: float
    power_w: float
    clock: float
    work: Work


def work_of(launches: Iterable[KernelLaunch], values: Mapping[str, float]) -> Work:
    """Return what the launches' bytes, rows and operations cost at full clock, J.

    memory: bytes × 8 × pJ/bit + rows by index × (1 − row bytes / page) × pJ per page opened.
    core: all bytes through L2 × 8 × pJ/bit + warp instructions, flops and exponentials × pJ each.
    values: of `PARAMETERS`, in their units.
    """
    v, memory, core = values, 0.0, 0.0
    for one in launches:
        moved = one.stream_bytes + one.gather_bytes + one.written_bytes
        memory += 8 * moved * v["memory_energy"]
        if one.gather_rows:
            whole = min(1.0, one.gather_bytes / one.gather_rows / PAGE_BYTES)
            memory += one.gather_rows * (1 - whole) * v["page_energy"]
        core += 8 * (one.read_bytes + one.written_bytes) * v["l2_energy"]
        core += one.programs * one.issue_slots * v["instruction_energy"]
        core += one.tensor_flops * v["tensor_energy"] + one.exponentials * v["exp_energy"]
    return Work(memory * 1e-12, core * 1e-12)


def power_above_idle_w(
    work: Work, values: Mapping[str, float], time_s: float, clock: float = 1.0
) -> float:
    """Return what a load adds to the idle board, W.

    active × clock^(1 + e) + (memory_j + core_j × clock^e) / time, e = voltage_exponent: energy per
    operation goes with the square of the voltage, and the voltage with the clock. time_s: of one
    call at that clock; clock: over the full one.
    """
    scale = float(clock ** values["voltage_exponent"])
    return (values["active_power"] * clock * scale
            + (work.memory_j + work.core_j * scale) / time_s)


def steady(calibration: GpuCalibration, launches: Sequence[KernelLaunch]) -> SteadyLoad:
    """Return time and energy of one call of launches that repeat for seconds without a pause.

    energy = (idle + power above idle) × time. Where that needs more than the limit, the clock
    falls until power meets it; what runs at the clock then takes longer, and costs less per
    operation. Where the lowest clock is not enough, the load waits: time = energy / limit.
    launches: of one call; one that would be the first of a lone call waits for the call before.
    Raises `ValueError` if the limit leaves nothing for work, or if there is no launch.
    """
    v = calibration.values()
    if not launches:
        raise ValueError("a steady load needs at least one launch")
    if v["power_limit"] <= v["idle_power"] + v["active_power"]:
        raise ValueError(f"the power limit of {v['power_limit']} W leaves nothing above"
                         f" {v['idle_power'] + v['active_power']} W")
    work = work_of(launches, v)

    def load(clock: float) -> SteadyLoad:
        time_s = repeated_s(launches, calibration.multiprocessors, v, clock)
        power = v["idle_power"] + power_above_idle_w(work, v, time_s, clock)
        return SteadyLoad(time_s, power * time_s, power, clock, work)

    if (full := load(1.0)).power_w <= v["power_limit"]:
        return full
    low, high = LOWEST_CLOCK, 1.0
    if (slow := load(low)).power_w > v["power_limit"]:
        return _waiting(slow, v)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if load(middle).power_w > v["power_limit"]:
            high = middle
        else:
            low = middle
    return load(low)


def repeated_s(
    launches: Iterable[KernelLaunch], multiprocessors: int, values: Mapping[str, float],
    clock: float = 1.0,
) -> float:
    """Return the time of one call among many in a row, s; clock: over the full one."""
    slowed = {**values, **{name: values[name] * clock for name in FOLLOWS_CLOCK}}
    timing = GpuTiming(multiprocessors, slowed)
    return sum(timing.launch(replace(one, start="serial") if one.start == "alone" else one).time_s
               for one in launches)


def _waiting(slow: SteadyLoad, values: Mapping[str, float]) -> SteadyLoad:
    """Stretch a load whose joules above idle and active power are too many for the limit."""
    base = values["idle_power"] + values["active_power"] * slow.clock ** (
        1 + values["voltage_exponent"])
    joules = slow.energy_j - base * slow.time_s
    time_s = joules / (values["power_limit"] - base)
    return replace(slow, time_s=time_s, energy_j=values["power_limit"] * time_s,
                   power_w=values["power_limit"])
