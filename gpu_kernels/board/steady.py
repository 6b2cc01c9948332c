"""Energy of a call, from readings of the board while it is repeated for seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from gpu_kernels.board.nvml import Meter, Sample

STEADY_TIMER = "host clock over a window of graph replays"
SETTLE_S = 0.8
"""Clocks and the sensor's own averaging follow a change of load within this time."""
WINDOW_S = 1.5
SAMPLE_EVERY_S = 0.01
DISAGREEMENT = 0.1
"""Counter and power integral further apart than this are reported with a warning."""


@dataclass(frozen=True)
class BoardReading:
    """What the board said over one window; None where it did not say, with the reason in `note`.

    window_s: between the first and the last step of the counter, or of all samples.
    counter_w: counter's rise over window_s; integral_w: trapezoid over the power readings there.
    Clocks in MHz and memory_power_w: means. held_down: all reasons seen, NVML's bits.
    """

    window_s: float | None
    counter_w: float | None
    integral_w: float | None
    memory_power_w: float | None
    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    temperature_c: float | None
    held_down: int | None
    note: str


def reading(samples: Sequence[Sample], reason: str) -> BoardReading:
    """Return the mean powers of one window of samples, in order of time.

    The counter stands still between its steps, so its rise is taken from step to step.
    """
    steps = [b for a, b in pairwise(samples)
             if None not in (a.counter_j, b.counter_j) and a.counter_j != b.counter_j]
    notes = [reason] if reason else []
    counter_w = None
    inside = list(samples)
    if len(steps) >= 2:
        inside = [s for s in samples if steps[0].time_s <= s.time_s <= steps[-1].time_s]
        rise = float(steps[-1].counter_j or 0) - float(steps[0].counter_j or 0)
        counter_w = rise / (steps[-1].time_s - steps[0].time_s)
    elif any(s.counter_j is not None for s in samples):
        notes.append("the energy counter stood still")
    integral_w = _integral(inside)
    if counter_w is not None and integral_w is not None and (
        abs(counter_w - integral_w) > DISAGREEMENT * max(counter_w, integral_w)
    ):
        notes.append(f"warning: counter {counter_w:.1f} W, power integral {integral_w:.1f} W")
    bits = [s.held_down for s in inside if s.held_down is not None]
    held = 0
    for one in bits:
        held |= one
    return BoardReading(
        inside[-1].time_s - inside[0].time_s if len(inside) > 1 else None, counter_w, integral_w,
        _mean([s.memory_power_w for s in inside]), _mean([s.sm_clock_mhz for s in inside]),
        _mean([s.memory_clock_mhz for s in inside]), _mean([s.temperature_c for s in inside]),
        held if bits else None, "; ".join(notes),
    )


def _integral(samples: Sequence[Sample]) -> float | None:
    known = [(s.time_s, s.power_w) for s in samples if s.power_w is not None]
    if len(known) < 2:
        return None
    joules = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(known))
    return joules / (known[-1][0] - known[0][0])


def power_w(found: BoardReading) -> float | None:
    """Return the counter's power, or the integral's where there is no counter, W."""
    return found.integral_w if found.counter_w is None else found.counter_w


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


class Sampler:
    """Reads the meter in the background; `with Sampler(meter) as s: …; s.samples`."""

    def __init__(self, meter: Meter) -> None:
        self.samples: list[Sample] = []
        self._meter = meter
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        while not self._over.is_set():
            self.samples.append(self._meter.sample())
            self._over.wait(SAMPLE_EVERY_S)

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def idle_reading(meter: Meter, window_s: float = WINDOW_S) -> BoardReading:
    """Return what the board draws while nothing runs on it, with its context open."""
    time.sleep(2 * SETTLE_S)
    with Sampler(meter) as sampler:
        time.sleep(window_s)
    return reading(sampler.samples, meter.reason)


def steady_reading(
    calls: Sequence[Callable[[], Any]], meter: Meter, window_s: float = WINDOW_S
) -> tuple[float, int, BoardReading]:
    """Return (seconds per call, calls in the window, reading) of calls repeated without a pause.

    calls: run in turn, over and over; several of them with memory of their own make each find the
    caches full of the others'. They are replayed from a CUDA graph, so that the host never holds
    the device up.
    """
    import torch

    graph, calls_per_replay = _graph(calls)

    def run_for(seconds: float) -> tuple[float, int]:
        begin, replays = time.perf_counter(), 0
        ends = [torch.cuda.Event() for _ in range(2)]
        while time.perf_counter() - begin < seconds:
            graph.replay()
            ends[replays % 2].record()
            replays += 1
            # one replay always waits in the queue
            if replays > 1:
                ends[replays % 2].synchronize()
        torch.cuda.synchronize()
        return time.perf_counter() - begin, replays

    run_for(SETTLE_S)
    with Sampler(meter) as sampler:
        elapsed, replays = run_for(window_s)
    done = replays * calls_per_replay
    return elapsed / done, done, reading(sampler.samples, meter.reason)


def _graph(calls: Sequence[Callable[[], Any]], replay_s: float = 0.01) -> tuple[Any, int]:
    """Return (graph, calls in it): whole rounds of the calls that last about `replay_s`."""
    import torch

    for call in calls:
        call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(5):
        for call in calls:
            call()
    end.record()
    torch.cuda.synchronize()
    round_s = begin.elapsed_time(end) * 1e-3 / 5
    rounds = max(1, min(500 // len(calls), round(replay_s / round_s)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(rounds):
            for call in calls:
                call()
    return graph, rounds * len(calls)
