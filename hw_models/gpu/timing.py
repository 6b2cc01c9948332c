"""Time of kernel launches: what runs side by side (memory, L2, issue), plus what is serial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hw_models.gpu.calibration import GpuCalibration
from hw_models.gpu.launch import KernelLaunch, Steps

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
    multiprocessor: what the busiest one's programs take one after the other. It has
    ⌈programs / multiprocessors⌉ (wave quantisation), `resident` of them at a time. A program with
    k tiles under way takes max(C, (C + latency) / k) per tile, C its steps: it waits for a tile,
    computes, requests another in its place; without C that is Little's law. Added: the busiest
    one's bytes / multiprocessor rate, and what its programs execute outside of their loops.
    issue: the longest of its warp instructions / (4 × min(issue rate, warps per scheduler /
    interval) × clock) and of what the special and the tensor units of its schedulers take.
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
        loop = max(loop, busy["steps"])
        return LaunchTime(self._start_s(launch), self._ends_s(launch), busy, loop)

    def _start_s(self, launch: KernelLaunch) -> float:
        v = self._v
        if launch.start == "dependent":
            return v["dependent_launch"] + launch.programs * v["dependent_dispatch"]
        first = v["launch"] if launch.start == "alone" else v["serial_launch"]
        return first + launch.programs * v["dispatch"]

    def _ends_s(self, launch: KernelLaunch) -> float:
        v = self._v
        if launch.steps.instructions:
            from_memory = launch.stream_bytes + launch.gather_bytes > 0
            first = v["ramp"] + v["memory_latency"] if from_memory else v["l2_latency"]
            return first + launch.dependent_reads * v["l2_latency"]
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
        streamed = launch.stream_bytes + launch.written_bytes
        busy = {
            "memory": streamed / v["read_bandwidth"] + max(
                launch.gather_bytes / (v["gather_efficiency"] * v["read_bandwidth"]),
                launch.gather_lines / v["line_rate"],
            ),
            "l2": launch.read_bytes / v["l2_bandwidth"],
        }
        rounds = -(-programs // resident)
        busy["multiprocessor"] = self._waiting_s(launch, rounds, programs)
        busy["steps"] = self._steps_s(launch, rounds)
        warps = resident * launch.num_warps / SCHEDULERS
        rate = min(v["issue_rate"], warps / v["issue_interval"])
        busy["issue"] = programs * max(
            launch.issue_slots / (SCHEDULERS * rate * v["clock"]), self._units_s(launch)
        )
        return busy

    def _tiles(self, launch: KernelLaunch) -> tuple[float, float, float]:
        """Return (tiles of a program, steps of one in s, latency of one in s)."""
        v = self._v
        tiles = launch.turns or launch.read_bytes / launch.tile_bytes / launch.programs
        turn = self.steps_s(launch.turn, launch.num_warps)
        if not launch.read_bytes:
            return tiles, turn, 0.0
        from_l2 = launch.l2_bytes / launch.read_bytes
        if launch.turns:
            latency = from_l2 * v["l2_latency"] + (1 - from_l2) * v["memory_latency"]
            return tiles, turn, latency + launch.tile_bytes / v["program_rate"]
        # these hold what little code a stream's loop has
        return tiles, turn, (from_l2 * v["l2_tile_latency"] + (1 - from_l2) * v["tile_latency"])

    def _waiting_s(self, launch: KernelLaunch, rounds: int, programs: int) -> float:
        """Time of the busiest multiprocessor's programs if bandwidth were free."""
        tiles, turn, latency = self._tiles(launch)
        alone = turn if launch.tiles_in_flight == 1 else 0.0
        once = self.steps_s(launch.once, launch.num_warps)
        taken_in = programs / launch.programs * launch.read_bytes / self._v["multiprocessor_rate"]
        return rounds * (once + tiles * (alone + latency) / launch.tiles_in_flight) + taken_in

    def _steps_s(self, launch: KernelLaunch, rounds: int) -> float:
        """Time of the busiest multiprocessor's programs one step after the other."""
        tiles, turn, latency = self._tiles(launch)
        once = self.steps_s(launch.once, launch.num_warps)
        return rounds * (once + tiles * max(turn, (turn + latency) / launch.tiles_in_flight
                                            if launch.turns else 0.0))

    def steps_s(self, steps: Steps, num_warps: int) -> float:
        """Return how long a program takes for the steps of its warps, others not in its way, s.

        A lone warp waits at no barrier.
        """
        v = self._v
        barriers = steps.barriers if num_warps > 1 else 0.0
        plain = steps.instructions - steps.special - steps.tensor
        cycles = (plain * v["step_interval"] + barriers * v["barrier"]
                  + steps.special * v["special_interval"] + steps.tensor * v["tensor_interval"])
        return cycles / v["clock"]

    def _units_s(self, launch: KernelLaunch) -> float:
        """Time for which one program keeps the special or the tensor units busy."""
        v, steps = self._v, launch.steps
        busiest = max(steps.special * v["special_interval"], steps.tensor * v["tensor_interval"])
        return launch.num_warps * busiest / (SCHEDULERS * v["clock"])


def overlapped(times: Iterable[float], exponent: float) -> float:
    """Return (Σ time^p)^(1/p) of non-negative times; never under the largest of them."""
    found = list(times)
    longest = max(found, default=0.0)
    if longest == 0:
        return 0.0
    return float(longest * sum((time / longest) ** exponent for time in found) ** (1 / exponent))
