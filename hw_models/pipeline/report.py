"""What a pipeline did: time, states, memory, buffers and when each step ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hw_models.dram.energy import EnergyReport
from hw_models.dram.statistics import ChannelStatistics
from hw_models.pipeline.bounds import MEMORY, Bounds
from hw_models.pipeline.machine import Machine
from hw_models.pipeline.work import Schedule


@dataclass(frozen=True)
class TrackUse:
    """How the slots of one track spent the time; the four add up to the time of the run.

    slots: how many; seconds are means over them. steps: how many it ran.
    """

    name: str
    slots: int
    steps: int
    busy_s: float
    stalled_s: float
    blocked_s: float
    idle_s: float


@dataclass(frozen=True)
class Timeline:
    """When each step of the schedule ran, in picoseconds, and on which slot of its track.

    start, end: int64 [steps]; slot: int32 [steps]. order: int64 [transfers], steps that move bytes
    in the order in which they were submitted. filled_at, filled: int64, times and the bytes in use
    in all buffers together from each of them on.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    slot: NDArray[np.int32]
    order: NDArray[np.int64]
    filled_at: NDArray[np.int64]
    filled: NDArray[np.int64]


@dataclass(frozen=True)
class PipelineReport:
    """Result of `simulate`.

    tracks: in the order of the schedule. channels, memory_energy: of the memory over the run.
    sram_high_bytes: most bytes in use in all buffers at once.
    """

    schedule: Schedule
    machine: Machine
    time_s: float
    tracks: tuple[TrackUse, ...]
    channels: ChannelStatistics
    memory_energy: EnergyReport
    sram_high_bytes: int
    bounds: Bounds
    timeline: Timeline

    @property
    def memory_bytes(self) -> int:
        """Bytes that went over the memory's bus, whole bursts."""
        return int(self.channels.read_bytes.sum() + self.channels.write_bytes.sum())

    @property
    def bus_share(self) -> float:
        """Share of the time in which the memory's data bus moved bytes."""
        return self._share(self.memory_bytes / self.machine.memory.peak_bytes_per_s)

    @property
    def memory_share(self) -> float:
        """`Bounds.memory_alone_s` over the time of the run, at most 1."""
        return min(1.0, self._share(self.bounds.memory_alone_s))

    @cached_property
    def shares(self) -> Mapping[str, float]:
        """Resource -> share of the time in which it is busy; the engines are the memory's part."""
        computing = {
            use.name: self._share(use.busy_s) for use in self.tracks
            if self.schedule.steps[self.schedule.tracks[use.name][0]].transfer is None
        }
        return {MEMORY: self.memory_share, **computing}

    @property
    def bottleneck(self) -> str:
        """The busiest resource."""
        return max(self.shares, key=lambda name: self.shares[name])

    def _share(self, seconds: float) -> float:
        return seconds / self.time_s if self.time_s else 0.0
