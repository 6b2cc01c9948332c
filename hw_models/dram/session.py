"""A memory that stays alive between requests: transfers come in one by one, as a machine asks.

Banks, queues and refresh carry over from transfer to transfer. What is submitted with its arrivals
in one go to `hw_models.dram.simulate` ends in the same cycles.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hw_models.dram.commands import COMMAND, Command
from hw_models.dram.energy import EnergyReport, energy_of
from hw_models.dram.front_end import ALL, run_until
from hw_models.dram.memory_spec import DramSpec, check
from hw_models.dram.policy import Policy, check_queue
from hw_models.dram.scheduler import Traffic, advance
from hw_models.dram.scheduler_state import NEVER, NOBODY, Now, Slot
from hw_models.dram.simulation import closed_channels, rules_of
from hw_models.dram.statistics import ChannelStatistics, statistics_of

CHUNK_CYCLES = 1024
MOST_COMMANDS = 3 * CHUNK_CYCLES
"""Two command buses, and the precharges that closed-page column commands announce."""
FIRST_ROOM = 4096


class DramSession:
    """A memory in time, from cycle 0 on.

    spec, policy, queue: as in `hw_models.dram.simulate`; each channel has a source of its own,
    which waits for that channel's queue. Raises `SpecError` for a bad spec or a queue of 0.
    """

    def __init__(self, spec: DramSpec, policy: Policy | None = None, queue: int = 64) -> None:
        check(spec)
        check_queue(queue)
        self.spec = spec
        self.pending = 0
        """Transfers that have not been reported as done."""
        self._rules = rules_of(spec, policy or Policy())
        self._channels = closed_channels(spec, self._rules, queue)
        self._pieces = spec.mapping.pieces(spec.organisation)
        self._log = np.empty((MOST_COMMANDS, len(COMMAND.names or ())), np.int64)
        self._decided = 0
        self._arrived = 0
        self._tickets = 0
        self._left = np.zeros(1024, np.int64)
        self._last = np.zeros(1024, np.int64)
        self._finished = np.empty(1024, np.int64)
        self._room(FIRST_ROOM)

    @property
    def least_latency_cycles(self) -> int:
        """No burst ends sooner after the cycle of its column command."""
        delays = self._rules.delays
        return min(delays.read_done, delays.write_done)

    def submit(self, cycle: int, address: NDArray[np.int64], is_write: bool = False) -> int:
        """Let bursts arrive and return the number of the transfer that they make up.

        cycle: arrival of all of them, not before an earlier submission nor before what `advance`
        has decided. address: int64 [bursts >= 1], a byte of each burst, in order of issue.
        Raises `ValueError` for an arrival in the past, no burst, or an address off the memory.
        """
        if not max(self._arrived, self._decided) <= cycle < NEVER >> 2:
            raise ValueError(f"arrives at cycle {cycle}, which is over; now: {self._decided}")
        capacity = self.spec.organisation.capacity_bytes
        if not len(address) or address.min() < 0 or address.max() >= capacity:
            raise ValueError(f"a transfer has bursts within 0 .. {capacity - 1} of the memory")
        ticket = self._tickets
        if ticket == len(self._left):
            self._left, self._last, self._finished = (
                np.concatenate([old, np.zeros_like(old)])
                for old in (self._left, self._last, self._finished)
            )
        while not _append(
            np.int64(cycle), address, is_write, ticket, self._pieces, self._channels.now,
            self._traffic, self._owner,
        ):
            self._make_room(len(address))
        self._left[ticket] = len(address)
        self._tickets += 1
        self._arrived = cycle
        self.pending += 1
        return ticket

    def advance(self, until: int) -> list[tuple[int, int]]:
        """Decide all cycles before `until`; return (transfer, cycle after its last bit) pairs.

        Those are the transfers whose last burst was issued in these cycles, in ascending order;
        their end may lie beyond `until`. Every request that arrives before `until` must have been
        submitted.
        """
        count = _advance_all(
            self._rules, self._channels, self._traffic, self._owner, self._left, self._last,
            self._finished, self._log, np.int64(until),
        )
        self._decided = max(self._decided, until)
        if not count:
            return []
        self.pending -= count
        done = np.sort(self._finished[:count])
        return list(zip(done.tolist(), self._last[done].tolist(), strict=True))

    def close(self, cycles: int) -> tuple[ChannelStatistics, EnergyReport]:
        """Go on to cycle `cycles`, with refresh, and return counts and energy from cycle 0.

        Raises `ValueError` while transfers are pending or if `cycles` lies in the past.
        """
        if self.pending:
            raise ValueError(f"{self.pending} transfers are pending")
        if cycles < self._channels.now[:, Now.BURST_END].max():
            raise ValueError(f"the last burst ends after cycle {cycles}")
        logs = np.empty((len(self._channels.now), 0, self._log.shape[1]), np.int64)
        run_until(self._rules, self._channels, self._traffic, logs, np.int64(cycles))
        shape, t_ck = self.spec.organisation, self.spec.timing.tCK_ps
        counts = statistics_of(self._channels, cycles, t_ck, shape.burst_bytes)
        return counts, energy_of(counts, self.spec.energy, t_ck, shape.ranks)

    def _room(self, per_channel: int) -> None:
        """Make empty arrays for that many requests per channel."""
        n = self.spec.organisation.channels * per_channel
        self._capacity = per_channel
        self._traffic = Traffic(
            start=np.arange(0, n + 1, per_channel), arrival=np.empty(n, np.int64),
            bank=np.empty(n, np.int32), row=np.empty(n, np.int32),
            is_write=np.empty(n, np.bool_), done=np.empty(n, np.int64),
        )
        self._owner = np.empty(n, np.int64)

    def _make_room(self, bursts: int) -> None:
        """Forget served requests; take larger arrays if that leaves too little."""
        old, owner = self._traffic, self._owner
        waiting = int(_forget_served(self._channels, old, owner))
        if waiting + bursts > self._capacity // 2:
            rows = len(old.start) - 1, self._capacity
            self._room(2 * (waiting + bursts))
            # a tuple with a star loses its items' type
            larger: list[np.ndarray] = [*self._traffic[1:], self._owner]
            smaller: list[np.ndarray] = [*old[1:], owner]
            for mine, theirs in zip(larger, smaller, strict=True):
                mine.reshape(rows[0], -1)[:, : rows[1]] = theirs.reshape(rows)


@njit(cache=True, nogil=True)
def _append(cycle, address, is_write, ticket, pieces, now, traffic, owner):  # type: ignore[no-untyped-def]
    """Add bursts behind what each channel knows; return whether they had room."""
    capacity = traffic.start[1] - traffic.start[0]
    n = address.shape[0]
    channel, bank, row = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    more = np.zeros(now.shape[0], np.int64)
    for i in range(n):
        for p in range(pieces.shape[0]):
            bits = (address[i] >> pieces[p, 1] & pieces[p, 2]) << pieces[p, 3]
            if pieces[p, 0] == 0:
                channel[i] |= bits
            elif pieces[p, 0] == 1:
                bank[i] |= bits
            else:
                row[i] |= bits
        more[channel[i]] += 1
    for c in range(now.shape[0]):
        if now[c, Now.KNOWN] + more[c] > capacity:
            return False
    for i in range(n):
        c = channel[i]
        k = traffic.start[c] + now[c, Now.KNOWN]
        now[c, Now.KNOWN] += 1
        traffic.arrival[k], traffic.bank[k], traffic.row[k] = cycle, bank[i], row[i]
        traffic.is_write[k] = is_write
        owner[k] = ticket
    return True


@njit(cache=True, nogil=True, _nrt=False)
def _advance_all(rules, channels, traffic, owner, left, last, finished, log, until):  # type: ignore[no-untyped-def]
    """Advance every channel to `until`; write the transfers that got their last burst."""
    count = 0
    for c in range(channels.now.shape[0]):
        now, first = channels.now[c], traffic.start[c]
        while now[Now.CYCLE] < until:
            now[Now.LOGGED] = 0
            advance(rules, channels, c, traffic, log, min(until, now[Now.CYCLE] + CHUNK_CYCLES),
                    ALL)
            for i in range(now[Now.LOGGED]):
                if log[i, 1] != Command.READ and log[i, 1] != Command.WRITE:
                    continue
                k = first + log[i, 4]
                ticket = owner[k]
                left[ticket] -= 1
                last[ticket] = max(last[ticket], traffic.done[k])
                if left[ticket] == 0:
                    finished[count] = ticket
                    count += 1
    return count


@njit(cache=True, nogil=True)
def _forget_served(channels, traffic, owner):  # type: ignore[no-untyped-def]
    """Move each channel's requests from its oldest waiting one on to the front; return the most."""
    most = 0
    for c in range(channels.now.shape[0]):
        now, slot, age = channels.now[c], channels.slot[c], channels.age[c]
        known, shift = now[Now.KNOWN], now[Now.NEXT]
        if now[Now.OLDEST] >= 0:
            shift = slot[now[Now.OLDEST], Slot.AGE]
        first = traffic.start[c]
        for i in range(first, first + known - shift):
            traffic.arrival[i] = traffic.arrival[i + shift]
            traffic.bank[i] = traffic.bank[i + shift]
            traffic.row[i] = traffic.row[i + shift]
            traffic.is_write[i] = traffic.is_write[i + shift]
            traffic.done[i] = traffic.done[i + shift]
            owner[i] = owner[i + shift]
        now[Now.NEXT] -= shift
        now[Now.KNOWN] = known - shift
        most = max(most, known - shift)
        s = now[Now.OLDEST]
        while s >= 0:
            slot[s, Slot.AGE] -= shift
            s = slot[s, Slot.YOUNGER]
        for kind in range(age.shape[0]):
            for b in range(age.shape[1]):
                if age[kind, b] != NOBODY:
                    age[kind, b] -= shift
    return most
