"""What each channel did, and what all of them did together."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hw_models.dram.scheduler_state import Channels, Rank, Sum

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ChannelStatistics:
    """Counts of a run, int64 [channels], with the time that they cover.

    cycles: length of the run. row_hits, row_misses, row_conflicts: requests that found their row
    open, their bank closed, another row open. active_cycles: cycles with an open bank, ranks
    summed. occupancy_cycles: Σ over cycles of requests in the queue. latency_cycles: Σ over
    requests, from arrival to the end of the burst. latency_histogram: [channels, bins], bin k for
    2^(k-1) .. 2^k - 1 cycles.
    """

    cycles: int
    tCK_ps: int
    reads: Counts
    writes: Counts
    read_bytes: Counts
    write_bytes: Counts
    row_hits: Counts
    row_misses: Counts
    row_conflicts: Counts
    activations: Counts
    precharges: Counts
    refreshes: Counts
    active_cycles: Counts
    occupancy_cycles: Counts
    latency_cycles: Counts
    max_latency_cycles: Counts
    latency_histogram: Counts

    @property
    def requests(self) -> Counts:
        """Requests served, each exactly once."""
        return self.reads + self.writes

    @property
    def time_s(self) -> float:
        """Length of the run."""
        return self.cycles * self.tCK_ps * 1e-12

    @property
    def bandwidth_bytes_per_s(self) -> NDArray[np.float64]:
        """Bytes moved over the length of the run, per channel; 0 for an empty run."""
        moved = self.read_bytes + self.write_bytes
        return moved / self.time_s if self.cycles else np.zeros(len(moved))

    @property
    def mean_queue_occupancy(self) -> NDArray[np.float64]:
        """Mean number of requests in each channel's queue over the run."""
        return self.occupancy_cycles / max(1, self.cycles)

    @property
    def mean_latency_s(self) -> NDArray[np.float64]:
        """Mean time from arrival to the end of the burst; 0 where there were no requests."""
        return self.latency_cycles / np.maximum(1, self.requests) * (self.tCK_ps * 1e-12)

    @property
    def total(self) -> ChannelStatistics:
        """The sum over channels, as if of one channel; of the largest latency, the largest."""
        summed = {
            field.name: getattr(self, field.name).sum(axis=0, keepdims=True)
            for field in fields(self) if field.name not in ("cycles", "tCK_ps")
        }
        summed["max_latency_cycles"] = self.max_latency_cycles.max(keepdims=True)
        return ChannelStatistics(cycles=self.cycles, tCK_ps=self.tCK_ps, **summed)

    def of(self, channel: int) -> ChannelStatistics:
        """Return one channel's own statistics."""
        own = {
            field.name: getattr(self, field.name)[channel : channel + 1]
            for field in fields(self) if field.name not in ("cycles", "tCK_ps")
        }
        return ChannelStatistics(cycles=self.cycles, tCK_ps=self.tCK_ps, **own)


def statistics_of(
    channels: Channels, cycles: int, tCK_ps: int, burst_bytes: int
) -> ChannelStatistics:
    """Read the statistics out of the schedulers' state at the end of a run of `cycles`."""
    sums, rank = channels.sums, channels.rank
    until = np.minimum(rank[:, :, Rank.OPEN_UNTIL], cycles)
    until[rank[:, :, Rank.OPEN_BANKS] > 0] = cycles
    since = np.minimum(rank[:, :, Rank.OPEN_SINCE], cycles)
    active = rank[:, :, Rank.OPEN_CYCLES] + np.maximum(until - since, 0)
    return ChannelStatistics(
        cycles=cycles,
        tCK_ps=tCK_ps,
        reads=sums[:, Sum.READS],
        writes=sums[:, Sum.WRITES],
        read_bytes=sums[:, Sum.READS] * burst_bytes,
        write_bytes=sums[:, Sum.WRITES] * burst_bytes,
        row_hits=sums[:, Sum.ROW_HITS],
        row_misses=sums[:, Sum.ROW_MISSES],
        row_conflicts=sums[:, Sum.ROW_CONFLICTS],
        activations=sums[:, Sum.ACTIVATIONS],
        precharges=sums[:, Sum.PRECHARGES],
        refreshes=sums[:, Sum.REFRESHES],
        active_cycles=active.sum(axis=1),
        occupancy_cycles=sums[:, Sum.OCCUPANCY_CYCLES],
        latency_cycles=sums[:, Sum.LATENCY_CYCLES],
        max_latency_cycles=sums[:, Sum.MAX_LATENCY_CYCLES],
        latency_histogram=channels.histogram,
    )
