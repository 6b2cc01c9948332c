"""Times that no overlap can beat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hw_models.dram import burst_addresses, make_requests, simulate
from hw_models.pipeline.machine import Machine
from hw_models.pipeline.work import Schedule

MEMORY = "memory"
"""Name of main memory among the resources; the others are units, or tracks in a report."""


@dataclass(frozen=True)
class Bounds:
    """Times that no overlap can beat, in seconds.

    resources: memory (bytes over peak) and units (operations over rate), each alone.
    memory_alone_s: what the memory takes if all bursts wait from the start, in the order of the
    schedule; above bytes over peak by row misses and refresh.
    """

    resources: Mapping[str, float]
    memory_alone_s: float

    @property
    def roofline_s(self) -> float:
        """The longest of the resources."""
        return max(self.resources.values(), default=0.0)


def memory_alone(schedule: Schedule, machine: Machine) -> float:
    """Return how long the memory takes for all transfers if nothing else holds it up, in seconds.

    It does not depend on the units and buffers of the machine.
    """
    burst = machine.memory.organisation.burst_bytes
    moved = [step.transfer for step in schedule.steps if step.transfer is not None]
    if not moved:
        return 0.0
    address = [burst_addresses(t.start, t.segment_bytes, burst) for t in moved]
    is_write = np.repeat([t.is_write for t in moved], list(map(len, address)))
    requests = make_requests(np.concatenate(address), 0, is_write)
    return simulate(
        machine.memory, requests, policy=machine.policy, queue=machine.queue
    ).time_s


def bounds_of(schedule: Schedule, machine: Machine, memory_alone_s: float) -> Bounds:
    """Return the bounds of a schedule on a machine."""
    resources = {
        unit: count / machine.rates[unit] for unit, count in schedule.operations.items()
    }
    burst = machine.memory.organisation.burst_bytes
    bursts = sum(
        int(((t.start + t.segment_bytes - 1) // burst - t.start // burst + 1).sum())
        for t in (step.transfer for step in schedule.steps) if t is not None
    )
    if bursts:
        resources[MEMORY] = bursts * burst / machine.memory.peak_bytes_per_s
    return Bounds(resources, memory_alone_s)
