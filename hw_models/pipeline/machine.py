"""The sizes that a pipeline runs with: unit rates, buffers, transfers in flight, memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hw_models.dram import DramSpec, Policy
from hw_models.pipeline.work import Schedule
from hw_models.problems import Problem, SpecError, did_you_mean

PICOSECONDS = 10**12


@dataclass(frozen=True)
class Machine:
    """What steps run on.

    rates: unit -> op/s. buffers: name -> bytes. sram_bytes: what all buffers must fit into.
    in_flight: track of transfers -> how many of them at once; a track of computation has one step
    at a time. memory, policy, queue: as in `hw_models.dram.simulate`. path_s: seconds from an
    engine to the memory, and as many back.
    """

    rates: Mapping[str, float]
    buffers: Mapping[str, int]
    sram_bytes: int
    memory: DramSpec
    in_flight: Mapping[str, int] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    queue: int = 64
    path_s: float = 0.0

    @property
    def path_ps(self) -> int:
        """The way to the memory in whole picoseconds."""
        return round(self.path_s * PICOSECONDS)

    def duration_ps(self, work: Mapping[str, int]) -> int:
        """Return max over units of ⌈operations / rate⌉ in whole picoseconds."""
        return max(
            (-(-count * PICOSECONDS // round(self.rates[unit])) for unit, count in work.items()),
            default=0,
        )


def check_machine(machine: Machine, schedule: Schedule) -> None:
    """Raise `SpecError` where the schedule cannot run on the machine, with what would work."""
    problems = [
        Problem(f"no unit '{unit}'{did_you_mean(unit, machine.rates)}", path=("rates",))
        for unit in schedule.operations if unit not in machine.rates
    ]
    problems += [
        Problem(f"a unit's rate is at least 1 op/s, got {rate}", path=("rates", unit))
        for unit, rate in machine.rates.items() if not (math.isfinite(rate) and rate >= 1)
    ]
    problems += [
        Problem(f"got {count}: no transfer could start; the smallest value that works is 1",
                path=("in_flight", track))
        for track, count in machine.in_flight.items() if count < 1
    ]
    for name, most in schedule.largest.items():
        have = machine.buffers.get(name, 0)
        if have < most:
            problems.append(Problem(
                f"holds {have:,} bytes, and one piece of work takes {most:,}; the smallest value "
                f"that works is {most}", path=("buffers", name),
            ))
    needed = sum(machine.buffers.get(name, 0) for name in schedule.largest)
    if needed > machine.sram_bytes:
        parts = ", ".join(f"{name} {machine.buffers.get(name, 0):,}" for name in schedule.largest)
        problems.append(Problem(
            f"holds {machine.sram_bytes:,} bytes, and the buffers take {needed:,} ({parts}); the "
            f"smallest value that works is {needed}", path=("buffer", "capacity_bytes"),
        ))
    if problems:
        raise SpecError(problems)
