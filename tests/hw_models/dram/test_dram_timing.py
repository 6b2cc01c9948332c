"""Scenarios in which one constraint decides when a command starts, in cycles counted by hand."""

import numpy as np
import pytest
from tiny_dram import address, tiny

from hw_models.dram import Policy, make_requests, simulate
from hw_models.dram.command_checker import violations
from hw_models.dram.commands import Command

ACT, PRE, RD, WR, REF = list(Command)[:2] + list(Command)[2:5]
# of tiny: tRCD_RD 11, tRCD_WR 9, tRP 10, tRAS 19, tRC 29, tRRD 3/4, tFAW 17, tCCD 2/4, tRTP 6,
# tWR 8, tWTR 3/5, tRTW 6, tCL 7, tCWL 5, tBL 2, tRTRS 2; banks 0, 1 and 2, 3 share a group each
CONFLICT = [(0, 0, 0, False), (0, 0, 1, False)]
EIGHT = {"groups": 2, "per_group": 4}
OPENED = [(0, 0, 0, False), (0, 2, 0, False), (0, 1, 0, False)]


def hits(first, second, opened=OPENED):
    """Two bursts that find their rows open at cycle 100; (bank, is_write) each."""
    return [*opened, *((100, bank, 0, write) for bank, write in (first, second))]


# constraint, memory, (arrival, bank, row, is_write) each, command, its place among its kind, cycle
SCENARIOS = [
    ("tRCD_RD", {}, CONFLICT[:1], RD, 0, 11),
    ("tRCD_WR", {}, [(0, 0, 0, True)], WR, 0, 9),
    ("tRAS", {}, CONFLICT, PRE, 0, 19),
    ("tRTP", {"timing": {"tRTP": 15}}, CONFLICT, PRE, 0, 11 + 15),
    ("tWR", {}, [(0, 0, 0, True), (0, 0, 1, True)], PRE, 0, 9 + 5 + 2 + 8),
    ("tRP", {"timing": {"tRC": 19}}, CONFLICT, ACT, 1, 19 + 10),
    ("tRC", {"timing": {"tRC": 40}}, CONFLICT, ACT, 1, 40),
    ("tRRD_S", {}, [(0, 0, 0, False), (0, 2, 0, False)], ACT, 1, 3),
    ("tRRD_L", {}, [(0, 0, 0, False), (0, 1, 0, False)], ACT, 1, 4),
    ("tFAW", {**EIGHT, "timing": {"command_buses": 2}},
     [(0, bank, 0, False) for bank in (0, 4, 1, 5, 2)], ACT, 4, 17),
    ("t32AW", {**EIGHT, "timing": {"t32AW": 2000}},
     [(0, i % 8, i // 8, False) for i in range(33)], ACT, 32, 2000),
    ("tCCD_S", {"timing": {"tBL": 1}}, hits((0, False), (2, False)), RD, 4, 102),
    ("tCCD_L", {}, hits((0, False), (1, False)), RD, 4, 104),
    ("tCCD_S", {"timing": {"tBL": 1}}, hits((0, True), (2, True)), WR, 1, 102),
    ("tCCD_L", {}, hits((0, True), (1, True)), WR, 1, 104),
    ("tRTW", {}, hits((0, False), (2, True)), WR, 0, 106),
    ("tWTR_S", {}, hits((0, True), (2, False)), RD, 3, 100 + 5 + 2 + 3),
    ("tWTR_L", {}, hits((0, True), (1, False)), RD, 3, 100 + 5 + 2 + 5),
    ("tRTRS", {"ranks": 2}, hits((0, False), (4, False), [(0, 0, 0, False), (0, 4, 0, False)]),
     RD, 3, 100 + 2 + 2),
    ("tRTRS", {"ranks": 2}, hits((0, False), (4, True), [(0, 0, 0, False), (0, 4, 0, False)]),
     WR, 0, 100 + 7 + 2 + 2 - 5),
    ("tRTRS", {"ranks": 2}, hits((0, True), (4, False), [(0, 0, 0, False), (0, 4, 0, False)]),
     RD, 2, 100 + 5 + 2 + 2 - 7),
    ("tRFC", {"tREFI": 300, "scope": "all_bank", "postponed": 0}, [(301, 0, 0, False)], ACT, 0,
     300 + 31),
]


def ran(memory, rows, timing=()):
    options = {"tREFI": 100_000, **memory}
    options["timing"] = {**dict(options.get("timing", {})), **dict(timing)}
    spec = tiny(**options)
    at = [address(spec, bank, row) for _, bank, row, _ in rows]
    trace = make_requests(at, [r[0] for r in rows], [r[3] for r in rows])
    return spec, simulate(spec, trace, record_commands=True).commands[0]


@pytest.mark.parametrize(("name", "memory", "rows", "kind", "before", "cycle"), SCENARIOS)
def test_a_command_starts_in_the_first_cycle_that_its_constraint_allows_and_not_one_before(
    name, memory, rows, kind, before, cycle
):
    spec, commands = ran(memory, rows)
    place = np.flatnonzero(commands["kind"] == kind)[before]
    assert commands["cycle"][place] == cycle
    assert violations(spec, commands) == []
    early = commands.copy()
    early["cycle"][place] -= 1
    early = early[np.argsort(early["cycle"], kind="stable")]
    assert any(f"({name})" in line for line in violations(spec, early))


@pytest.mark.parametrize(
    ("name", "memory", "rows", "kind", "before", "cycle"),
    [s for s in SCENARIOS if s[0] not in ("tRFC", "tRAS")],
)
def test_a_constraint_of_one_cycle_less_lets_the_command_start_one_cycle_sooner(
    name, memory, rows, kind, before, cycle
):
    timing = {**tiny().timing.model_dump(), **memory.get("timing", {})}
    _, commands = ran(memory, rows, {name: timing[name] - 1})
    assert commands["cycle"][np.flatnonzero(commands["kind"] == kind)[before]] == cycle - 1


def test_a_burst_ends_after_its_latency_and_its_length():
    spec = tiny(tREFI=100_000)
    done = simulate(spec, make_requests([0, 0], [0, 500], [False, True])).done_cycle
    assert done.tolist() == [11 + 7 + 2, 500 + 5 + 2]


def test_the_checker_sees_wrong_rows_double_commands_and_open_rows_at_a_refresh():
    spec, commands = ran({}, CONFLICT[:1])
    wrong = commands.copy()
    wrong["row"][1] += 1
    assert any("is not open" in line for line in violations(spec, wrong))
    twice = np.concatenate([commands, commands[1:]])
    assert any("2 commands" in line for line in violations(spec, twice))
    refresh = commands.copy()
    refresh["kind"][1] = REF
    assert any("a row is open" in line for line in violations(spec, refresh))
    assert any("no row is open" in line for line in violations(spec, ran({}, CONFLICT)[1][2:]))


def test_one_command_bus_takes_one_command_per_cycle_and_two_take_a_row_and_a_column_command():
    rows = [(0, 0, 0, False), *((11, bank, 0, False) for bank in (2, 0))]
    for buses, activated in ((1, 12), (2, 11)):
        _, commands = ran({"timing": {"command_buses": buses}}, rows)
        cycles = commands["cycle"][commands["kind"] == ACT]
        assert cycles.tolist() == [0, activated]


def test_an_idle_bank_is_refreshed_before_a_wanted_one():
    spec = tiny(per_group=4, tREFI=800, postponed=4)
    wanted = [address(spec, bank, row % 16) for row in range(200) for bank in (0, 1, 2)]
    report = simulate(spec, make_requests(wanted), queue=64, record_commands=True)
    commands = report.commands[0]
    refreshed = commands["bank"][commands["kind"] == REF]
    assert set(refreshed[:5]) == {3, 4, 5, 6, 7}
    assert sorted(refreshed[:8]) == list(range(8))


@pytest.mark.parametrize("cap", [1, 4])
def test_refresh_keeps_pace_however_busy_the_memory_is(cap):
    spec = tiny(tREFI=400, postponed=3)
    rng = np.random.default_rng(2)
    trace = make_requests([address(spec, *where) for where in rng.integers(0, 4, (3000, 3))])
    report = simulate(spec, trace, policy=Policy(starvation_cap=cap))
    owed = report.channels.cycles // 100
    # three may wait and one may be under way
    assert owed - 4 <= report.channels.refreshes[0] <= owed
