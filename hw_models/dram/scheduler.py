"""One channel, advanced from event to event: the compiled form of `hw_models.dram.reference`.

A round of the loop decides one cycle: requests enter the queue, a refresh is chosen if one is due,
and the commands of the cycle are picked from that state. Between two rounds lies the time in which
no command can start, nothing arrives and no refresh falls due; it costs nothing.

`_nrt=False`, here and in what is called from here: counting references to arrays that outlive the
loop would take most of its time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hw_models.dram.channel_commands import activate, precharge, refresh, start_burst
from hw_models.dram.delays import Delays
from hw_models.dram.organisation import MAX_BANKS
from hw_models.dram.request_queue import admit, hide
from hw_models.dram.scheduler_state import NEVER, NOBODY, Bank, Integers, Kind, Now, Rank, Slot

AGE_BITS = 32
BANK_BITS = MAX_BANKS.bit_length() - 1
NO_KEY = (1 << 63) - 1


class Rules(NamedTuple):
    """What a channel must obey: delays in cycles, refresh, policy.

    ranks: of a channel; banks: of a rank; units: refresh commands per rank and tREFI; closed,
    two_buses: 0 or 1.
    """

    delays: Delays
    ranks: int
    banks: int
    banks_per_group: int
    units: int
    t_refi: int
    t_rfc: int
    max_postponed: int
    closed: int
    starvation_cap: int
    two_buses: int


class Traffic(NamedTuple):
    """Requests in the order in which they reach each channel; channel c owns start[c]:start[c+1].

    arrival: int64 [n]; bank, row: int32 [n]; is_write: bool [n]; done: int64 [n], where the
    scheduler writes the cycle after the last bit of each burst.
    """

    start: Integers
    arrival: Integers
    bank: NDArray[np.int32]
    row: NDArray[np.int32]
    is_write: NDArray[np.bool_]
    done: Integers


@njit(cache=True, nogil=True, _nrt=False)
def advance(rules, channels, c, traffic, log, until, stop_at_room):  # type: ignore[no-untyped-def]
    """Decide the cycles of channel `c` before cycle `until`, with the arrivals known so far.

    until: `NEVER` means until every known request is served. stop_at_room: 1 to return at the first
    cycle whose queue has a free slot, else 0. log: int64 [capacity, 5], where commands go while
    there is room.
    """
    now, sums, bank, slot = channels.now[c], channels.sums[c], channels.bank[c], channels.slot[c]
    ready, age, rank = channels.ready[c], channels.age[c], channels.rank[c]
    window, histogram = channels.window[c], channels.histogram[c]
    first, last = traffic.start[c], traffic.start[c + 1]
    arrival, to_bank = traffic.arrival[first:last], traffic.bank[first:last]
    to_row, writes = traffic.row[first:last], traffic.is_write[first:last]
    done = traffic.done[first:last]
    queue = slot.shape[0]
    t = now[Now.CYCLE]
    while t < until:
        admit(now, sums, bank, slot, age, rank, arrival, to_bank, to_row, writes, t)
        if stop_at_room and now[Now.QUEUED] < queue:
            break
        if until == NEVER and now[Now.QUEUED] == 0 and now[Now.NEXT] == now[Now.KNOWN]:
            break
        next_plan = _plan_refresh(rules, now, bank, age, rank, t)

        column_cycle, column_slot, row_cycle, row_bank = _best(
            rules, now, bank, slot, ready, age, rank, t
        )
        refresh_cycle, refresh_bank = _refresh_step(rules, bank, ready, rank, t)
        if refresh_cycle <= row_cycle:  # it goes before the rows that requests want
            row_cycle = refresh_cycle
        else:
            refresh_bank = -1
        event = min(column_cycle, row_cycle)
        other = next_plan
        if now[Now.QUEUED] < queue and now[Now.NEXT] < now[Now.KNOWN]:
            other = min(other, arrival[now[Now.NEXT]])
        if other <= event:
            t = min(other, until)
            continue
        if event >= until:
            t = until
            break

        t = event
        row_goes = row_cycle == t
        column_goes = column_cycle == t
        if row_goes and column_goes and not rules.two_buses:
            row_goes = refresh_bank >= 0
            column_goes = not row_goes
        if column_goes:
            start_burst(rules, now, sums, bank, slot, ready, age, rank, histogram, arrival,
                        done, column_slot, t, log)
        if row_goes:
            if refresh_bank >= 0 and bank[refresh_bank, Bank.ROW] < 0:
                refresh(rules, now, sums, bank, slot, ready, age, rank, refresh_bank, t, log)
            elif refresh_bank >= 0:
                precharge(rules, now, sums, bank, slot, ready, age, rank, refresh_bank, t, t,
                          log)
            elif bank[row_bank, Bank.ROW] < 0:
                activate(rules, now, sums, bank, slot, ready, age, rank, window, row_bank, t, log)
            else:
                slot[bank[row_bank, Bank.OLDEST], Slot.OUTCOME] = 2
                precharge(rules, now, sums, bank, slot, ready, age, rank, row_bank, t, t, log)
        t += 1
    now[Now.CYCLE] = t


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _plan_refresh(rules, now, bank, age, rank, t):  # type: ignore[no-untyped-def]
    """Choose the units to refresh at cycle t; return the next cycle that may change the choice.

    Of the units that still miss their turn in this round, the idle one that was used last goes
    first: a stream comes back to it last. One with queued requests goes only when no more refresh
    can be postponed.
    """
    soonest = NEVER
    for r in range(rules.ranks):
        if rank[r, Rank.UNIT] >= 0:
            continue
        if rank[r, Rank.PLAN] > t:
            soonest = min(soonest, rank[r, Rank.PLAN])
            continue
        forced = rank[r, Rank.DUE] + rules.max_postponed * rules.t_refi // rules.units
        unit, is_idle = _unit_to_refresh(rules, bank, rank, r)
        if not is_idle and t < forced:
            rank[r, Rank.PLAN] = forced
            soonest = min(soonest, forced)
            continue
        rank[r, Rank.UNIT] = unit
        for b in range(bank.shape[0]):
            if bank[b, Bank.RANK] == r and bank[b, Bank.UNIT] == unit:
                hide(now, age, b)
    return soonest


@njit(cache=True, nogil=True, _nrt=False)
def _unit_to_refresh(rules, bank, rank, r):  # type: ignore[no-untyped-def]
    """Return the unit of rank r whose turn is best now, and whether it is idle."""
    best, best_use, best_idle = -1, -2, False
    for u in range(rules.units):
        if rank[r, Rank.DONE] >> u & 1:
            continue
        use, idle = -1, True
        for b in range(bank.shape[0]):
            if bank[b, Bank.RANK] == r and bank[b, Bank.UNIT] == u:
                use = max(use, bank[b, Bank.LAST_USE])
                idle &= bank[b, Bank.OLDEST] < 0
        if (idle and not best_idle) or (idle == best_idle and use > best_use):
            best, best_use, best_idle = u, use, idle
    return best, best_idle


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _best(rules, now, bank, slot, ready, age, rank, t):  # type: ignore[no-untyped-def]
    """Return the first column and row command from cycle t on: cycle, slot; cycle, bank.

    Of several in one cycle, the oldest request's. `NEVER` where there is none.
    """
    oldest = now[Now.OLDEST]
    if oldest < 0:
        return NEVER, -1, NEVER, -1
    if now[Now.PASSED] >= rules.starvation_cap:
        return _next_of(bank, slot, ready, rank, oldest, t)
    base = slot[oldest, Slot.AGE]
    column = row = NO_KEY
    if now[Now.COLUMN_WAITS] > 0:
        column = _least(
            age[Kind.READ], age[Kind.WRITE], ready[Kind.READ], ready[Kind.WRITE], t, base
        )
    if now[Now.ROW_WAITS] > 0:
        row = _least(age[Kind.ACT], age[Kind.PRE], ready[Kind.ACT], ready[Kind.PRE], t, base)
    column_cycle, row_cycle, column_slot = NEVER, NEVER, -1
    if column != NO_KEY:
        b = column & MAX_BANKS - 1
        column_cycle = t + (column >> AGE_BITS + BANK_BITS)
        column_slot = bank[b, Bank.READ_HIT]
        if age[Kind.READ, b] != base + (column >> BANK_BITS & (1 << AGE_BITS) - 1):
            column_slot = bank[b, Bank.WRITE_HIT]
    if row != NO_KEY:
        row_cycle = t + (row >> AGE_BITS + BANK_BITS)
    return column_cycle, column_slot, row_cycle, row & MAX_BANKS - 1


@njit(cache=True, nogil=True, _nrt=False)
def _least(age, other_age, ready, other_ready, t, base):  # type: ignore[no-untyped-def]
    """Return the least key of two kinds of command over all banks; compiles to vector code."""
    least = NO_KEY
    for b in range(age.shape[0]):
        key = _key(age[b], ready[b], t, base, b)
        least = min(least, min(key, _key(other_age[b], other_ready[b], t, base, b)))
    return least


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _key(age, ready, t, base, b):  # type: ignore[no-untyped-def]
    """Return a number that is least for the earliest cycle, then for the oldest request.

    Its bits are cycles from t, age from the oldest request's, bank.
    """
    cycles = max(ready - t, 0)
    key = (cycles << AGE_BITS | age - base) << BANK_BITS | b
    return key if age != NOBODY else NO_KEY


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _next_of(bank, slot, ready, rank, s, t):  # type: ignore[no-untyped-def]
    """Return like `_best` the next command of slot `s`, as if nobody else were waiting."""
    b = slot[s, Slot.BANK]
    r = bank[b, Bank.RANK]
    if rank[r, Rank.UNIT] == bank[b, Bank.UNIT]:
        return NEVER, -1, NEVER, -1
    if bank[b, Bank.ROW] == slot[s, Slot.ROW]:
        w = slot[s, Slot.IS_WRITE]
        return max(t, ready[Kind.READ + w, b]), s, NEVER, b
    if bank[b, Bank.ROW] < 0:
        return NEVER, -1, max(t, ready[Kind.ACT, b]), b
    return NEVER, -1, max(t, ready[Kind.PRE, b]), b


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _refresh_step(rules, bank, ready, rank, t):  # type: ignore[no-untyped-def]
    """Return cycle and bank of the next command that a chosen refresh needs, from cycle t on.

    Open banks of the unit are precharged first, then the unit is refreshed.
    """
    best_cycle, best_bank = NEVER, -1
    for r in range(rules.ranks):
        u = rank[r, Rank.UNIT]
        if u < 0:
            continue
        cycle, at, is_open = max(t, rank[r, Rank.REFRESH]), -1, False
        for b in range(bank.shape[0]):
            if bank[b, Bank.RANK] != r or bank[b, Bank.UNIT] != u:
                continue
            if bank[b, Bank.ROW] >= 0:
                closes = max(t, ready[Kind.PRE, b])
                if not is_open or closes < cycle:
                    cycle, at, is_open = closes, b, True
            elif not is_open:
                cycle = max(cycle, ready[Kind.ACT, b])
                if at < 0:
                    at = b
        if cycle < best_cycle:
            best_cycle, best_bank = cycle, at
    return best_cycle, best_bank
