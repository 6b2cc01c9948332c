"""What each command does to a channel: which cycles it rules out for the commands after it."""

from __future__ import annotations

from numba import njit

from hw_models.dram.commands import Command
from hw_models.dram.request_queue import classify, remove
from hw_models.dram.scheduler_state import LATENCY_BINS, Bank, Kind, Now, Rank, Slot, Sum


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _note(now, log, t, kind, b, row, request):  # type: ignore[no-untyped-def]
    n = now[Now.LOGGED]
    if n < log.shape[0]:
        log[n, 0], log[n, 1], log[n, 2], log[n, 3], log[n, 4] = t, kind, b, row, request
    now[Now.LOGGED] = n + 1


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def block(rules, ready, b, in_group, in_rank, elsewhere):  # type: ignore[no-untyped-def]
    """Let no command of one kind start before these cycles.

    ready: int64 [banks], of that kind; in_group: in the bank group of bank `b`; in_rank: in its
    rank, not later; elsewhere: in other ranks.
    """
    first = b & -rules.banks
    for other in range(first):
        ready[other] = max(ready[other], elsewhere)
    for other in range(first + rules.banks, ready.shape[0]):
        ready[other] = max(ready[other], elsewhere)
    for other in range(first, first + rules.banks):
        ready[other] = max(ready[other], in_rank)
    if in_group == in_rank:
        return
    first = b & -rules.banks_per_group
    for other in range(first, first + rules.banks_per_group):
        ready[other] = max(ready[other], in_group)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def start_burst(  # type: ignore[no-untyped-def]
    rules, now, sums, bank, slot, ready, age, rank, histogram, arrival, done, s, t, log
):
    """Start the burst of slot `s` at cycle t and free the slot."""
    d = rules.delays
    b, w, i = slot[s, Slot.BANK], slot[s, Slot.IS_WRITE], slot[s, Slot.AGE]
    r = bank[b, Bank.RANK]
    read, write = ready[Kind.READ], ready[Kind.WRITE]
    if w:
        end = t + d.write_done
        ready[Kind.PRE, b] = max(ready[Kind.PRE, b], t + d.write_pre)
        block(rules, read, b, t + d.write_read_l, t + d.write_read_s, t + d.write_read_x)
        block(rules, write, b, t + d.burst_l, t + d.burst_s, t + d.burst_x)
    else:
        end = t + d.read_done
        ready[Kind.PRE, b] = max(ready[Kind.PRE, b], t + d.read_pre)
        block(rules, read, b, t + d.burst_l, t + d.burst_s, t + d.burst_x)
        block(rules, write, b, t + d.read_write, t + d.read_write, t + d.read_write_x)
    bank[b, Bank.LAST_USE] = t
    done[i] = end
    now[Now.BURST_END] = max(now[Now.BURST_END], end)
    _note(now, log, t, Command.WRITE if w else Command.READ, b, slot[s, Slot.ROW], i)

    latency = end - arrival[i]
    sums[Sum.READS + w] += 1
    sums[Sum.ROW_HITS + slot[s, Slot.OUTCOME]] += 1
    sums[Sum.LATENCY_CYCLES] += latency
    sums[Sum.MAX_LATENCY_CYCLES] = max(sums[Sum.MAX_LATENCY_CYCLES], latency)
    bin_ = 0
    while latency > 0 and bin_ < LATENCY_BINS - 1:
        latency >>= 1
        bin_ += 1
    histogram[bin_] += 1
    remove(now, sums, bank, slot, age, s, t)
    if bank[b, Bank.OLDEST] < 0:  # an idle bank may be what a refresh waits for
        rank[r, Rank.PLAN] = min(rank[r, Rank.PLAN], max(rank[r, Rank.DUE], t + 1))
    if rules.closed and bank[b, Bank.READ_HIT] < 0 and bank[b, Bank.WRITE_HIT] < 0:
        precharge(rules, now, sums, bank, slot, ready, age, rank, b, ready[Kind.PRE, b], t, log)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def activate(  # type: ignore[no-untyped-def]
    rules, now, sums, bank, slot, ready, age, rank, window, b, t, log
):
    """Open the row that the bank's oldest request wants."""
    d = rules.delays
    s = bank[b, Bank.OLDEST]
    r, row = bank[b, Bank.RANK], slot[s, Slot.ROW]
    if slot[s, Slot.OUTCOME] == 0:
        slot[s, Slot.OUTCOME] = 1
    bank[b, Bank.ROW] = row
    ready[Kind.READ, b] = max(ready[Kind.READ, b], t + d.act_read)
    ready[Kind.WRITE, b] = max(ready[Kind.WRITE, b], t + d.act_write)
    ready[Kind.PRE, b] = t + d.act_pre
    ready[Kind.ACT, b] = max(ready[Kind.ACT, b], t + d.act_act)
    while s >= 0:
        hit = Bank.READ_HIT + slot[s, Slot.IS_WRITE]
        if slot[s, Slot.ROW] == row and bank[b, hit] < 0:
            bank[b, hit] = s
        s = slot[s, Slot.YOUNGER_IN_BANK]
    classify(now, bank, slot, age, b)
    k = rank[r, Rank.ACTIVATIONS]
    window[r, k & 31] = t
    rank[r, Rank.ACTIVATIONS] = k + 1
    soonest = max(
        t + d.act_act_s, window[r, (k - 3) & 31] + d.faw, window[r, (k - 31) & 31] + d.aw32
    )
    block(rules, ready[Kind.ACT], b, max(soonest, t + d.act_act_l), soonest, 0)
    if rank[r, Rank.OPEN_BANKS] == 0 and t > rank[r, Rank.OPEN_UNTIL]:
        rank[r, Rank.OPEN_CYCLES] += rank[r, Rank.OPEN_UNTIL] - rank[r, Rank.OPEN_SINCE]
        rank[r, Rank.OPEN_SINCE] = t
    rank[r, Rank.OPEN_BANKS] += 1
    sums[Sum.ACTIVATIONS] += 1
    _note(now, log, t, Command.ACTIVATE, b, row, -1)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def precharge(  # type: ignore[no-untyped-def]
    rules, now, sums, bank, slot, ready, age, rank, b, t, decided, log
):
    """Close bank `b` at cycle t, which may lie after the cycle in which it was decided."""
    r = bank[b, Bank.RANK]
    bank[b, Bank.ROW] = -1
    bank[b, Bank.READ_HIT] = -1
    bank[b, Bank.WRITE_HIT] = -1
    ready[Kind.ACT, b] = max(ready[Kind.ACT, b], t + rules.delays.pre_act)
    if rank[r, Rank.UNIT] != bank[b, Bank.UNIT]:
        classify(now, bank, slot, age, b)
    rank[r, Rank.OPEN_BANKS] -= 1
    rank[r, Rank.OPEN_UNTIL] = max(rank[r, Rank.OPEN_UNTIL], t)
    sums[Sum.PRECHARGES] += 1
    kind = Command.PRECHARGE if t == decided else Command.AUTO_PRECHARGE
    _note(now, log, t, kind, b, -1, -1)


@njit(cache=True, nogil=True, _nrt=False)
def due_cycle(rules, r, done):  # type: ignore[no-untyped-def]
    """Return when the refresh after `done` others falls due in rank r; ranks take turns."""
    return (done + 1) * rules.t_refi // rules.units + r * rules.t_refi // (
        rules.ranks * rules.units
    )


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def refresh(rules, now, sums, bank, slot, ready, age, rank, b, t, log):  # type: ignore[no-untyped-def]
    """Refresh the unit of bank `b`, and let its requests go on afterwards."""
    r, u = bank[b, Bank.RANK], bank[b, Bank.UNIT]
    for other in range(bank.shape[0]):
        if bank[other, Bank.RANK] == r and bank[other, Bank.UNIT] == u:
            ready[Kind.ACT, other] = t + rules.t_rfc
            classify(now, bank, slot, age, other)
    rank[r, Rank.REFRESH] = t + rules.t_rfc
    rank[r, Rank.UNIT] = -1
    rank[r, Rank.COUNT] += 1
    rank[r, Rank.DUE] = due_cycle(rules, r, rank[r, Rank.COUNT])
    rank[r, Rank.PLAN] = rank[r, Rank.DUE]
    rank[r, Rank.DONE] |= 1 << u
    if rank[r, Rank.COUNT] % rules.units == 0:
        rank[r, Rank.DONE] = 0
    sums[Sum.REFRESHES] += 1
    _note(now, log, t, Command.REFRESH, b, -1, -1)
