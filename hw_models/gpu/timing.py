"""Time of kernel launches: what runs side by side (memory, L2, issue), plus what is serial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hw_models.gpu.calibration import GpuCalibration
from hw_models.gpu.launch import KernelLaunch

SCHEDULERS = 4
"""Warp schedulers of a multiprocessor, Volta to Blackwell (NVIDIA's tuning guides)."""


@dataclass(frozen=True)
class LaunchTime:
    """Seconds of one launch: what is serial, and the resources that overlap.

    start_s: launching and dispatching. ends_s: first reads and drain. busy_s: resource -> time it
    would take alone. loop_s: their overlap. bound: the resource that takes longest.
    """

    start_s: float
    ends_s: float
    busy_s: Mapping[str, float]
    loop_s: float

    @property
    def bound(self) -> str:
        """The resource that takes longest, `launch` where the serial part takes longer."""
        name = max(self.busy_s, key=lambda resource: self.busy_s[resource])
        return name if self.busy_s[name] > self.start_s + self.ends_s else "launch"

    @property
    def time_s(self) -> float:
        """Sum of start, ends and loop, s."""
        return self.start_s + self.ends_s + self.loop_s


class GpuTiming:
    """The time model of one GPU.

    t(launch) = start + programs × dispatch + ends
    + (max(memory, l2)^p + multiprocessor^p + issue^p)^(1/p), with p = overlap and, in seconds:
    memory: streamed and written bytes / bandwidth + the longer of gathered bytes / (bandwidth ×
    efficiency) and gathered lines / line rate. l2: all read bytes / L2 bandwidth.
    multiprocessor: bytes of the busiest one over F / (latency + F / rate), F its bytes in flight
    (Little's law). The busiest has ⌈programs / multiprocessors⌉ programs: wave quantisation.
    issue: its warp instructions / (4 × min(issue rate, warps per scheduler / interval) × clock).
    """

    def __init__(self, multiprocessors: int, values: Mapping[str, float]) -> None:
        self.multiprocessors = multiprocessors
        self._v = values

    @classmethod
    def of(cls, calibration: GpuCalibration) -> GpuTiming:
        """Return the model at the nominal values of a calibration or datasheet."""
        return cls(calibration.multiprocessors, calibration.values())

    def call_s(self, launches: Iterable[KernelLaunch]) -> float:
        """Return what the timer reads for a call: timer + Σ launches, s."""
        return self._v["timer"] + sum(self.launch(launch).time_s for launch in launches)

    def launch(self, launch: KernelLaunch) -> LaunchTime:
        """Return the time of one launch, by term."""
        busy = self._busy(launch)
        # what comes from memory passes through L2 on one pipeline, as fast as its slower end
        pipeline = max(busy["memory"], busy["l2"])
        loop = overlapped((pipeline, busy["multiprocessor"], busy["issue"]), self._v["overlap"])
        return LaunchTime(self._start_s(launch), self._ends_s(launch), busy, loop)

    def _start_s(self, launch: KernelLaunch) -> float:
        v = self._v
        if launch.start == "dependent":
            return v["dependent_launch"] + launch.programs * v["dependent_dispatch"]
        first = v["launch"] if launch.start == "alone" else v["serial_launch"]
        return first + launch.programs * v["dispatch"]

    def _ends_s(self, launch: KernelLaunch) -> float:
        v = self._v
        if launch.stream_bytes or launch.gather_bytes:
            # the longer one even if a fit has them the other way round: more bytes, no less time
            latency = max(v["tile_latency"], v["l2_tile_latency"])
            return v["ramp"] + (1 + launch.dependent_reads) * latency
        if launch.l2_bytes:
            return v["ramp"] + (1 + launch.dependent_reads) * v["l2_tile_latency"]
        return launch.dependent_reads * v["l2_latency"]  # a kernel before it left them there

    def _busy(self, launch: KernelLaunch) -> dict[str, float]:
        v = self._v
        programs = -(-launch.programs // self.multiprocessors)
        resident = min(launch.resident, programs)
        share = programs / launch.programs
        streamed = launch.stream_bytes + launch.written_bytes
        busy = {
            "memory": streamed / v["read_bandwidth"] + max(
                launch.gather_bytes / (v["gather_efficiency"] * v["read_bandwidth"]),
                launch.gather_lines / v["line_rate"],
            ),
            "l2": launch.read_bytes / v["l2_bandwidth"],
        }
        busy["multiprocessor"] = 0.0
        if launch.read_bytes:
            in_flight = resident * launch.tile_bytes * launch.tiles_in_flight
            from_memory = launch.read_bytes - launch.l2_bytes
            waited = (from_memory * v["tile_latency"]
                      + launch.l2_bytes * v["l2_tile_latency"]) / in_flight
            busy["multiprocessor"] = share * (waited
                                              + launch.read_bytes / v["multiprocessor_rate"])
        warps = resident * launch.num_warps / SCHEDULERS
        rate = min(v["issue_rate"], warps / v["issue_interval"])
        busy["issue"] = programs * launch.issue_slots / (SCHEDULERS * rate * v["clock"])
        return busy


def overlapped(times: Iterable[float], exponent: float) -> float:
    """Return (Σ time^p)^(1/p) of non-negative times; never under the largest of them."""
    found = list(times)
    longest = max(found, default=0.0)
    if longest == 0:
        return 0.0
    return float(longest * sum((time / longest) ** exponent for time in found) ** (1 / exponent))
