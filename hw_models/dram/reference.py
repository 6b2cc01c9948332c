"""The specification of a channel: one cycle after the other, each decided from scratch.

Slow and obvious. `hw_models.dram.scheduler` must issue the same commands in the same cycles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw_models.dram.command_checker import ACT, PRE, RD, REF, WR, History
from hw_models.dram.commands import COMMAND, Command
from hw_models.dram.memory_spec import DramSpec
from hw_models.dram.policy import Page, Policy


@dataclass
class Request:
    """One burst: its place in arrival order, and where it goes."""

    index: int
    arrival: int
    bank: int
    row: int
    is_write: bool


@dataclass
class RankRefresh:
    """How far a rank is with its refreshes: units of this round, count, and the one under way."""

    first: int
    remaining: list[int]
    count: int = 0
    bank: int | None = None



class ReferenceChannel:
    """One channel that serves its requests, in order of arrival, cycle by cycle.

    After `run`, `commands` holds `COMMAND` records by cycle and `done` the cycle after the last
    bit of each request.
    """

    def __init__(
        self, spec: DramSpec, policy: Policy, queue: int, requests: list[Request]
    ) -> None:
        self.spec, self.policy, self.capacity = spec, policy, queue
        self.history = History(spec)
        self.waiting = list(requests)
        self.queue: list[Request] = []
        self.open_row: dict[int, int] = {}
        self.last_use: dict[int, int] = {}
        self.passed = 0
        self.log: list[tuple[int, int, int, int, int]] = []
        self.done = [0] * len(requests)
        shape, units = spec.organisation, spec.refresh_units
        self.ranks = [
            RankRefresh(
                first=rank * spec.refresh.tREFI // (shape.ranks * units),
                remaining=self._unit_banks(rank),
            )
            for rank in range(shape.ranks)
        ]

    def run(self) -> None:
        """Decide cycle after cycle until every request is served."""
        cycle = 0
        while self._arrived(cycle) or self.waiting or self.queue:
            for rank in self.ranks:
                self._plan(rank, cycle)
            self._decide(cycle)
            cycle += 1

    @property
    def commands(self) -> NDArray[np.void]:
        """All commands so far."""
        log = np.array(self.log, COMMAND)
        return log[np.argsort(log["cycle"], kind="stable")]

    def _unit_banks(self, rank: int) -> list[int]:
        """Return the first bank of each refresh unit of a rank, in the units' order."""
        banks = self.spec.organisation.banks
        every = range(rank * banks, (rank + 1) * banks)
        return [b for b in every if b == min(self.history.unit(b))]

    def _arrived(self, cycle: int) -> bool:
        """Let requests enter the queue; return whether any is there."""
        while self.waiting and self.waiting[0].arrival <= cycle and len(self.queue) < self.capacity:
            if not self.queue:
                self.passed = 0
            self.queue.append(self.waiting.pop(0))
        return bool(self.queue)

    def _plan(self, rank: RankRefresh, cycle: int) -> None:
        """Choose the unit to refresh, if one is due and the choice may be made."""
        refresh, units = self.spec.refresh, self.spec.refresh_units
        due = (rank.count + 1) * refresh.tREFI // units + rank.first
        if rank.bank is not None or cycle < due:
            return
        wanted = {request.bank for request in self.queue}
        idle = [b for b in rank.remaining if not wanted & set(self.history.unit(b))]
        must = cycle >= due + refresh.max_postponed * refresh.tREFI // units
        candidates = idle or (rank.remaining if must else [])
        if candidates:
            rank.bank = max(candidates, key=lambda b: (self._used(b), -b))

    def _used(self, bank: int) -> int:
        return max(self.last_use.get(b, -1) for b in self.history.unit(bank))

    def _ready(self, kind: Command, bank: int, cycle: int) -> bool:
        return self.history.earliest(kind, bank)[0] <= cycle

    def _decide(self, cycle: int) -> None:
        """Issue the commands of one cycle, all chosen from its first state."""
        refresh = self._refresh_command(cycle)
        column = self._column(cycle)
        row = refresh or self._row(cycle)
        if row and column and self.spec.timing.command_buses == 1:
            row, column = (row, None) if refresh else (None, column)
        if column:
            self._burst(column, cycle)
        if row:
            kind, bank, wanted = row
            self._note(cycle, kind, bank, wanted if kind is ACT else -1)
            self.history.add(kind, bank, cycle)
            if kind is ACT:
                self.open_row[bank] = wanted
            elif kind is PRE:
                del self.open_row[bank]
            else:
                self._refreshed(bank)

    def _refresh_command(self, cycle: int) -> tuple[Command, int, int] | None:
        for rank in self.ranks:
            if rank.bank is None:
                continue
            is_open = [b for b in self.history.unit(rank.bank) if b in self.open_row]
            for bank in is_open:
                if self._ready(PRE, bank, cycle):
                    return PRE, bank, -1
            if not is_open and self._ready(REF, rank.bank, cycle):
                return REF, rank.bank, -1
        return None

    def _refreshed(self, bank: int) -> None:
        rank = self.ranks[bank // self.spec.organisation.banks]
        rank.count, rank.bank = rank.count + 1, None
        rank.remaining.remove(bank)
        if not rank.remaining:
            rank.remaining = self._unit_banks(self.ranks.index(rank))

    def _is_closed_for_refresh(self, bank: int) -> bool:
        return any(
            rank.bank is not None and bank in self.history.unit(rank.bank) for rank in self.ranks
        )

    def _candidates(self) -> list[Request]:
        """Return the requests that may be served, oldest first."""
        starved = self.passed >= self.policy.starvation_cap
        allowed = self.queue[:1] if starved else self.queue
        return [r for r in allowed if not self._is_closed_for_refresh(r.bank)]

    def _column(self, cycle: int) -> Request | None:
        for request in self._candidates():
            kind = WR if request.is_write else RD
            is_open = self.open_row.get(request.bank) == request.row
            if is_open and self._ready(kind, request.bank, cycle):
                return request
        return None

    def _row(self, cycle: int) -> tuple[Command, int, int] | None:
        candidates = self._candidates()
        hit = {r.bank for r in candidates if self.open_row.get(r.bank) == r.row}
        seen = set(hit)
        for request in candidates:
            if request.bank in seen:
                continue
            seen.add(request.bank)
            kind = PRE if request.bank in self.open_row else ACT
            if self._ready(kind, request.bank, cycle):
                return kind, request.bank, request.row
        return None

    def _burst(self, request: Request, cycle: int) -> None:
        timing = self.spec.timing
        kind = WR if request.is_write else RD
        self._note(cycle, kind, request.bank, request.row, request.index)
        self.history.add(kind, request.bank, cycle)
        latency = timing.tCWL if request.is_write else timing.tCL
        self.done[request.index] = cycle + latency + timing.tBL
        self.last_use[request.bank] = cycle
        self.passed = 0 if request is self.queue[0] else self.passed + 1
        self.queue.remove(request)
        still_wanted = any(
            (r.bank, r.row) == (request.bank, request.row) for r in self.queue
        )
        if self.policy.page is Page.CLOSED and not still_wanted:
            closes = self.history.earliest(PRE, request.bank)[0]
            self._note(closes, Command.AUTO_PRECHARGE, request.bank, -1)
            self.history.add(PRE, request.bank, closes)
            del self.open_row[request.bank]

    def _note(self, cycle: int, kind: Command, bank: int, row: int, request: int = -1) -> None:
        self.log.append((cycle, int(kind), bank, row, request))
