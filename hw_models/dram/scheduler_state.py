"""What a channel's scheduler remembers, as arrays that the compiled loop reads and writes.

Numba's cache on disk does not see that a number in here has changed: delete `__pycache__` then.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

NEVER = 1 << 62
"""A cycle that no simulation reaches."""
NOBODY = 1 << 62
"""The age of a request that does not exist."""
LATENCY_BINS = 40
"""Bin k of a latency histogram counts latencies of 2^(k-1) .. 2^k - 1 cycles."""


class Now(IntEnum):
    """Columns of `Channels.now`: scalars of a channel."""

    CYCLE = 0
    """First cycle that is not decided yet."""
    NEXT = 1
    """The channel's first request that has not entered the queue."""
    KNOWN = 2
    """One past the channel's last request with a known arrival."""
    QUEUED = 3
    FREE_SLOT = 4
    OLDEST = 5
    YOUNGEST = 6
    PASSED = 7
    """Column commands for others since the oldest request became the oldest."""
    LOGGED = 8
    BURST_END = 9
    """When the last burst leaves the bus."""
    OCCUPANCY_SINCE = 10
    ROW_WAITS = 11
    """Banks in which a request waits for an activation or a precharge."""
    COLUMN_WAITS = 12
    """Banks in which a request waits for its burst."""


class Sum(IntEnum):
    """Columns of `Channels.sums`: what the report counts."""

    READS = 0
    WRITES = 1
    ROW_HITS = 2
    ROW_MISSES = 3
    ROW_CONFLICTS = 4
    ACTIVATIONS = 5
    PRECHARGES = 6
    REFRESHES = 7
    OCCUPANCY_CYCLES = 8
    """Σ over cycles of requests in the queue."""
    LATENCY_CYCLES = 9
    """Σ over requests, from arrival to the end of the burst."""
    MAX_LATENCY_CYCLES = 10


class Bank(IntEnum):
    """Columns of `Channels.bank`."""

    ROW = 0
    """Open row, or -1."""
    READ_HIT = 1
    """Slot of the oldest queued read of the open row, or -1."""
    WRITE_HIT = 2
    OLDEST = 3
    YOUNGEST = 4
    LAST_USE = 5
    RANK = 6
    UNIT = 7
    """Which refresh command of its rank refreshes it."""


class Kind(IntEnum):
    """Rows of `Channels.ready` and `Channels.age`: the commands that a request may need."""

    ACT = 0
    PRE = 1
    READ = 2
    WRITE = 3


class Slot(IntEnum):
    """Columns of `Channels.slot`: one queued request."""

    AGE = 0
    ROW = 1
    BANK = 2
    IS_WRITE = 3
    OLDER = 4
    YOUNGER = 5
    OLDER_IN_BANK = 6
    YOUNGER_IN_BANK = 7
    OUTCOME = 8
    """0 row hit, 1 row miss, 2 row conflict."""


class Rank(IntEnum):
    """Columns of `Channels.rank`."""

    REFRESH = 0
    """Earliest cycle of the next refresh command: they do not overlap."""
    UNIT = 1
    """Unit being refreshed, or -1."""
    DONE = 2
    """Bit set of the units refreshed in this round."""
    COUNT = 3
    """Refresh commands so far."""
    DUE = 4
    """When the next refresh command falls due."""
    PLAN = 5
    """First cycle at which the choice of a unit to refresh can change."""
    ACTIVATIONS = 6
    OPEN_BANKS = 7
    OPEN_SINCE = 8
    OPEN_UNTIL = 9
    OPEN_CYCLES = 10
    """Cycles with at least one open bank, up to OPEN_SINCE."""


class Channels(NamedTuple):
    """State of all channels; the first axis is the channel, each row one channel's own memory.

    now, sums: [C, ·]; bank: [C, ranks·banks, ·]; slot: [C, queue, ·]. ready: [C, 4, ranks·banks],
    the earliest cycle of each kind of command. age: the same shape, the age of the request that
    waits for that command, or `NOBODY`. rank: [C, ranks, ·]; window: [C, ranks, 32], cycles of the
    last activations; histogram: [C, LATENCY_BINS]. All int64.
    """

    now: Integers
    sums: Integers
    bank: Integers
    slot: Integers
    ready: Integers
    age: Integers
    rank: Integers
    window: Integers
    histogram: Integers


def fresh_channels(
    channels: int, ranks: int, queue: int, unit_of_bank: Integers, first_due: Integers
) -> Channels:
    """Return the state before cycle 0: all banks closed, nothing queued.

    unit_of_bank: int64 [banks], which refresh command of a rank refreshes its bank.
    first_due: int64 [ranks], when each rank's first refresh falls due.
    """
    banks = len(unit_of_bank)
    now = np.zeros((channels, len(Now)), np.int64)
    now[:, [Now.OLDEST, Now.YOUNGEST]] = -1
    bank = np.full((channels, ranks * banks, len(Bank)), -1, np.int64)
    index = np.arange(ranks * banks)
    bank[:, :, Bank.RANK] = index // banks
    bank[:, :, Bank.UNIT] = unit_of_bank[index % banks]
    slot = np.full((channels, queue, len(Slot)), -1, np.int64)
    slot[:, :, Slot.YOUNGER] = np.arange(1, queue + 1)  # the chain of free slots
    slot[:, -1, Slot.YOUNGER] = -1
    rank = np.zeros((channels, ranks, len(Rank)), np.int64)
    rank[:, :, Rank.UNIT] = -1
    rank[:, :, Rank.DUE] = rank[:, :, Rank.PLAN] = first_due
    return Channels(
        now=now,
        sums=np.zeros((channels, len(Sum)), np.int64),
        bank=bank,
        slot=slot,
        ready=np.zeros((channels, len(Kind), ranks * banks), np.int64),
        age=np.full((channels, len(Kind), ranks * banks), NOBODY, np.int64),
        rank=rank,
        window=np.full((channels, ranks, 32), -NEVER, np.int64),
        histogram=np.zeros((channels, LATENCY_BINS), np.int64),
    )
