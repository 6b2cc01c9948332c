"""Which command may follow which, and when: checks a recorded command stream against its memory.

Written from the constraints alone, one line each, on the history of a channel; it shares nothing
with the scheduler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hw_models.dram.commands import Command
from hw_models.dram.memory_spec import DramSpec
from hw_models.dram.timing_set import RefreshScope

ACT, PRE = Command.ACTIVATE, Command.PRECHARGE
RD, WR, REF = Command.READ, Command.WRITE, Command.REFRESH


class Constraint(NamedTuple):
    """`after` may start no earlier than `cycles` after the `nth` latest `before` in `scope`.

    scope: `bank`, `group` (the same bank group), `rank` (the same rank) or `elsewhere` (another
    rank of the channel). A refresh stands for every bank of its unit.
    """

    name: str
    before: Command
    after: Command
    scope: str
    cycles: int
    nth: int = 1


def constraints(spec: DramSpec) -> list[Constraint]:
    """Return the constraints of a memory."""
    t, refresh = spec.timing, spec.refresh
    gap_l, gap_s = max(t.tBL, t.tCCD_L), max(t.tBL, t.tCCD_S)
    found = [
        Constraint("tRC", ACT, ACT, "bank", t.tRC),
        Constraint("tRRD_L", ACT, ACT, "group", t.tRRD_L),
        Constraint("tRRD_S", ACT, ACT, "rank", t.tRRD_S),
        Constraint("tFAW", ACT, ACT, "rank", t.tFAW, 4),
        Constraint("tRCD_RD", ACT, RD, "bank", t.tRCD_RD),
        Constraint("tRCD_WR", ACT, WR, "bank", t.tRCD_WR),
        Constraint("tRAS", ACT, PRE, "bank", t.tRAS),
        Constraint("tRP", PRE, ACT, "bank", t.tRP),
        Constraint("tRTP", RD, PRE, "bank", t.tRTP),
        Constraint("tWR", WR, PRE, "bank", t.tCWL + t.tBL + t.tWR),
        Constraint("tCCD_L", RD, RD, "group", gap_l),
        Constraint("tCCD_S", RD, RD, "rank", gap_s),
        Constraint("tCCD_L", WR, WR, "group", gap_l),
        Constraint("tCCD_S", WR, WR, "rank", gap_s),
        Constraint("tRTW", RD, WR, "rank", t.tRTW),
        Constraint("tWTR_L", WR, RD, "group", t.tCWL + t.tBL + t.tWTR_L),
        Constraint("tWTR_S", WR, RD, "rank", t.tCWL + t.tBL + t.tWTR_S),
        Constraint("tRTRS", RD, RD, "elsewhere", t.tBL + t.tRTRS),
        Constraint("tRTRS", WR, WR, "elsewhere", t.tBL + t.tRTRS),
        Constraint("tRTRS", RD, WR, "elsewhere", t.tCL + t.tBL + t.tRTRS - t.tCWL),
        Constraint("tRTRS", WR, RD, "elsewhere", t.tCWL + t.tBL + t.tRTRS - t.tCL),
        Constraint("tRFC", REF, ACT, "bank", refresh.tRFC),
        Constraint("tRFC", REF, REF, "rank", refresh.tRFC),
    ]
    if t.t32AW is not None:
        found.append(Constraint("t32AW", ACT, ACT, "rank", t.t32AW, 32))
    # a refresh opens rows like an activation
    return found + [
        rule._replace(after=REF) for rule in found if rule.after is ACT and rule.before is not REF
    ]


class History:
    """The commands of one channel so far, asked for the earliest legal cycle of the next."""

    def __init__(self, spec: DramSpec) -> None:
        self._organisation = spec.organisation
        self._scope = spec.refresh.scope
        self._rules = {kind: [r for r in constraints(spec) if r.after is kind] for kind in Command}
        self._past: dict[Command, list[tuple[int, int]]] = {kind: [] for kind in Command}

    def unit(self, bank: int) -> list[int]:
        """Return the banks that a refresh of `bank` refreshes."""
        shape = self._organisation
        rank = bank // shape.banks
        every = range(rank * shape.banks, (rank + 1) * shape.banks)
        if self._scope is RefreshScope.ALL_BANK:
            return list(every)
        if self._scope is RefreshScope.SAME_BANK:
            return [b for b in every if (b - bank) % shape.banks_per_group == 0]
        return [bank]

    def add(self, kind: Command, bank: int, cycle: int) -> None:
        """Append a command."""
        self._past[kind].append((cycle, bank))

    def earliest(self, kind: Command, bank: int) -> tuple[int, str]:
        """Return the first legal cycle of a command, and the constraint that sets it."""
        bound = (0, "")
        banks = self.unit(bank) if kind is REF else [bank]
        for rule in self._rules[kind]:
            cycles = sorted(
                (cycle for cycle, at in self._past[rule.before] if self._meet(rule, at, banks)),
                reverse=True,
            )
            if len(cycles) >= rule.nth:
                bound = max(bound, (cycles[rule.nth - 1] + rule.cycles, rule.name))
        return bound

    def _meet(self, rule: Constraint, before: int, banks: list[int]) -> bool:
        befores = self.unit(before) if rule.before is REF else [before]
        return any(self._in_scope(rule.scope, a, b) for a in befores for b in banks)

    def _in_scope(self, scope: str, a: int, b: int) -> bool:
        shape = self._organisation
        if scope == "bank":
            return a == b
        if scope == "group":
            return a // shape.banks_per_group == b // shape.banks_per_group
        same_rank = a // shape.banks == b // shape.banks
        return same_rank if scope == "rank" else not same_rank


def violations(spec: DramSpec, commands: NDArray[np.void]) -> list[str]:
    """Return what is illegal in one channel's commands, in order of cycle; empty if nothing is."""
    history = History(spec)
    open_row: dict[int, int] = {}
    bus: dict[int, list[bool]] = {}
    found = []
    for cycle, number, bank, row, _ in commands.tolist():
        kind = Command(number)
        what = f"cycle {cycle}: {kind.name} of bank {bank}"
        if kind is Command.AUTO_PRECHARGE:
            kind = PRE
        else:
            bus.setdefault(cycle, []).append(kind in (RD, WR))
        bound, name = history.earliest(kind, bank)
        if cycle < bound:
            found.append(f"{what} before cycle {bound} ({name})")
        history.add(kind, bank, cycle)
        if kind is ACT:
            if bank in open_row:
                found.append(f"{what}: a row is open")
            open_row[bank] = row
        elif kind is PRE:
            if open_row.pop(bank, None) is None:
                found.append(f"{what}: no row is open")
        elif kind is REF:
            if any(b in open_row for b in history.unit(bank)):
                found.append(f"{what}: a row is open")
        elif open_row.get(bank) != row:
            found.append(f"{what}: row {row} is not open")
    for cycle, columns in bus.items():
        per_bus = [len(columns)] if spec.timing.command_buses == 1 else [
            sum(columns), len(columns) - sum(columns)
        ]
        if max(per_bus) > 1:
            found.append(f"cycle {cycle}: {len(columns)} commands")
    return found
