"""The bounded queue of a channel: arrival order for the whole channel and for each bank."""

from __future__ import annotations

from numba import njit

from hw_models.dram.scheduler_state import NOBODY, Bank, Kind, Now, Rank, Slot, Sum


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def admit(  # type: ignore[no-untyped-def]
    now, sums, bank, slot, age, rank, arrival, to_bank, to_row, writes, t
):
    """Let requests that have arrived enter the queue, in order, while it has room."""
    i = now[Now.NEXT]
    known = now[Now.KNOWN]
    if i >= known or arrival[i] > t or now[Now.QUEUED] == slot.shape[0]:
        return
    sums[Sum.OCCUPANCY_CYCLES] += now[Now.QUEUED] * (t - now[Now.OCCUPANCY_SINCE])
    now[Now.OCCUPANCY_SINCE] = t
    while i < known and arrival[i] <= t and now[Now.QUEUED] < slot.shape[0]:
        s = now[Now.FREE_SLOT]
        now[Now.FREE_SLOT] = slot[s, Slot.YOUNGER]
        b = to_bank[i]
        w = 1 if writes[i] else 0
        older = now[Now.YOUNGEST]
        older_in_bank = bank[b, Bank.YOUNGEST]
        slot[s, Slot.AGE] = i
        slot[s, Slot.ROW] = to_row[i]
        slot[s, Slot.BANK] = b
        slot[s, Slot.IS_WRITE] = w
        slot[s, Slot.OLDER] = older
        slot[s, Slot.YOUNGER] = -1
        slot[s, Slot.OLDER_IN_BANK] = older_in_bank
        slot[s, Slot.YOUNGER_IN_BANK] = -1
        slot[s, Slot.OUTCOME] = 0
        if older < 0:
            now[Now.OLDEST] = s
            now[Now.PASSED] = 0
        else:
            slot[older, Slot.YOUNGER] = s
        now[Now.YOUNGEST] = s
        if older_in_bank < 0:
            bank[b, Bank.OLDEST] = s
        else:
            slot[older_in_bank, Slot.YOUNGER_IN_BANK] = s
        bank[b, Bank.YOUNGEST] = s
        if bank[b, Bank.ROW] == to_row[i] and bank[b, Bank.READ_HIT + w] < 0:
            bank[b, Bank.READ_HIT + w] = s
        if rank[bank[b, Bank.RANK], Rank.UNIT] != bank[b, Bank.UNIT]:
            classify(now, bank, slot, age, b)
        now[Now.QUEUED] += 1
        i += 1
    now[Now.NEXT] = i


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def classify(now, bank, slot, age, b):  # type: ignore[no-untyped-def]
    """Say which request of bank `b` waits for which kind of command.

    The oldest of each direction that finds its row open waits for its burst; if there is none,
    the oldest of all waits for an activation, or first for a precharge.
    """
    hide(now, age, b)
    oldest, read, write = bank[b, Bank.OLDEST], bank[b, Bank.READ_HIT], bank[b, Bank.WRITE_HIT]
    if read >= 0:
        age[Kind.READ, b] = slot[read, Slot.AGE]
    if write >= 0:
        age[Kind.WRITE, b] = slot[write, Slot.AGE]
    if read >= 0 or write >= 0:
        now[Now.COLUMN_WAITS] += 1
    elif oldest >= 0:
        kind = Kind.ACT if bank[b, Bank.ROW] < 0 else Kind.PRE
        age[kind, b] = slot[oldest, Slot.AGE]
        now[Now.ROW_WAITS] += 1


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def hide(now, age, b):  # type: ignore[no-untyped-def]
    """Let nobody wait for commands of bank `b`."""
    if age[Kind.ACT, b] != NOBODY or age[Kind.PRE, b] != NOBODY:
        now[Now.ROW_WAITS] -= 1
        age[Kind.ACT, b] = age[Kind.PRE, b] = NOBODY
    if age[Kind.READ, b] != NOBODY or age[Kind.WRITE, b] != NOBODY:
        now[Now.COLUMN_WAITS] -= 1
        age[Kind.READ, b] = age[Kind.WRITE, b] = NOBODY


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def remove(now, sums, bank, slot, age, s, t):  # type: ignore[no-untyped-def]
    """Take slot `s` out of the queue; its room is there from the next cycle on."""
    sums[Sum.OCCUPANCY_CYCLES] += now[Now.QUEUED] * (t + 1 - now[Now.OCCUPANCY_SINCE])
    now[Now.OCCUPANCY_SINCE] = t + 1
    now[Now.QUEUED] -= 1
    b = slot[s, Slot.BANK]
    older, younger = slot[s, Slot.OLDER], slot[s, Slot.YOUNGER]
    if older < 0:
        now[Now.OLDEST] = younger
        now[Now.PASSED] = 0
    else:
        slot[older, Slot.YOUNGER] = younger
        now[Now.PASSED] += 1
    if younger < 0:
        now[Now.YOUNGEST] = older
    else:
        slot[younger, Slot.OLDER] = older
    older, younger = slot[s, Slot.OLDER_IN_BANK], slot[s, Slot.YOUNGER_IN_BANK]
    if older < 0:
        bank[b, Bank.OLDEST] = younger
    else:
        slot[older, Slot.YOUNGER_IN_BANK] = younger
    if younger < 0:
        bank[b, Bank.YOUNGEST] = older
    else:
        slot[younger, Slot.OLDER_IN_BANK] = older
    w = slot[s, Slot.IS_WRITE]
    while younger >= 0 and (
        slot[younger, Slot.ROW] != bank[b, Bank.ROW] or slot[younger, Slot.IS_WRITE] != w
    ):
        younger = slot[younger, Slot.YOUNGER_IN_BANK]
    bank[b, Bank.READ_HIT + w] = younger
    classify(now, bank, slot, age, b)
    slot[s, Slot.YOUNGER] = now[Now.FREE_SLOT]
    now[Now.FREE_SLOT] = s
