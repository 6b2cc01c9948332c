"""The first time model: bytes over bandwidth, operations over rate, and two bounds on overlap."""

from __future__ import annotations

from hw_models.accelerator import Accelerator, Memory
from hw_models.ledger import Level, Pattern, Phase
from hw_models.lowering import Lowered
from hw_models.quantity import Interval
from hw_models.timing import MEMORY, TimeReport

ZERO = Interval.exact(0.0)


def roofline(lowered: Lowered, accelerator: Accelerator) -> TimeReport:
    """Return the time bounds of lowered work.

    Memory: Σ moved bytes / (peak bandwidth × efficiency of the access pattern), reads and writes
    sharing the bandwidth. A unit: Σ operations / rate. Perfect overlap: the largest of the
    resources' sums over all phases. No overlap: the sum of everything. Launches, latencies, waves
    and the buffer's own bandwidth take no time here. Seconds.
    Source: Williams, Waterman and Patterson, CACM 52(4), 2009, with one roof per unit.
    """
    busy, per_resource, total = resource_times(lowered, accelerator)
    if not per_resource:
        return TimeReport(ZERO, ZERO, "none", {}, {})
    times = per_resource.values()
    overlapped = Interval(
        max(t.low for t in times), max(t.nominal for t in times), max(t.high for t in times)
    )
    return TimeReport(
        time_s=overlapped,
        no_overlap_time_s=total,
        bound=max(per_resource, key=lambda resource: per_resource[resource].nominal),
        busy_s=busy,
        utilisation={r: t.nominal / overlapped.nominal for r, t in per_resource.items()},
    )


def resource_times(
    lowered: Lowered, accelerator: Accelerator
) -> tuple[dict[Phase, dict[str, Interval]], dict[str, Interval], Interval]:
    """Return seconds by phase and resource, by resource, and the sum of all."""
    busy = _busy(lowered, accelerator)
    per_resource: dict[str, Interval] = {}
    total = ZERO
    for resources in busy.values():
        for resource, time in resources.items():
            per_resource[resource] = per_resource.get(resource, ZERO) + time
            total += time
    return busy, per_resource, total


def _busy(lowered: Lowered, accelerator: Accelerator) -> dict[Phase, dict[str, Interval]]:
    found: dict[tuple[Phase, str], Interval] = {}
    for key in lowered.ledger.streams:
        if key.level is Level.MAIN:
            moved = lowered.ledger.stream_bytes(key, "moved")
            time = Interval.exact(moved).over(_bandwidth(accelerator.memory, key.pattern))
            found[key.phase, MEMORY] = found.get((key.phase, MEMORY), ZERO) + time
    for work in lowered.work:
        rate = accelerator.arithmetic.units[work.unit].rate.interval
        time = Interval.exact(work.count).over(rate)
        where = work.op.phase, work.unit
        found[where] = found.get(where, ZERO) + time
    return {
        phase: {resource: time for (p, resource), time in found.items() if p is phase}
        for phase in Phase
        if any(p is phase for p, _ in found)
    }


def _bandwidth(memory: Memory, pattern: Pattern) -> Interval:
    efficiency = (
        memory.gather_efficiency if pattern is Pattern.GATHER else memory.streaming_efficiency
    )
    return memory.peak_bandwidth.interval.times(efficiency.interval)
