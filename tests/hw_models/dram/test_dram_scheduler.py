import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_dram import address, memories, tiny, traces

from hw_models.dram import Page, Policy, load_dram, make_requests, simulate
from hw_models.dram.command_checker import violations
from hw_models.dram.commands import Command
from hw_models.dram.reference import ReferenceChannel, Request

POLICIES = st.builds(
    Policy, page=st.sampled_from(Page), starvation_cap=st.sampled_from([1, 2, 5, 100])
)


@st.composite
def cases(draw):
    spec = draw(memories())
    return spec, draw(POLICIES), draw(st.sampled_from([1, 2, 5, 16])), draw(traces(spec))


def reference(spec, policy, queue, trace):
    shape = spec.organisation

    def located(index, request):
        place = int(request["address"]) // shape.burst_bytes // shape.columns
        place, group = divmod(place, shape.bank_groups)
        place, inner = divmod(place, shape.banks_per_group)
        row, rank = divmod(place, shape.ranks)
        bank = (rank * shape.bank_groups + group) * shape.banks_per_group + inner
        return Request(index, int(request["arrival_cycle"]), bank, row, bool(request["is_write"]))

    channel = ReferenceChannel(spec, policy, queue, [located(*item) for item in enumerate(trace)])
    channel.run()
    return channel


def of_requests(commands):
    """Commands up to the last burst: refresh goes on to the end of the run afterwards."""
    last = commands["cycle"][np.isin(commands["kind"], [Command.READ, Command.WRITE])].max()
    late = (commands["cycle"] > last) & (commands["kind"] != Command.AUTO_PRECHARGE)
    return sorted(commands[~late].tolist())


@given(cases())
@settings(max_examples=100)
def test_the_scheduler_issues_the_commands_of_the_specification_in_the_same_cycles(case):
    spec, policy, queue, trace = case
    report = simulate(spec, trace, policy=policy, queue=queue, record_commands=True)
    slow = reference(spec, policy, queue, trace)
    assert of_requests(report.commands[0]) == of_requests(slow.commands)
    assert report.done_cycle.tolist() == slow.done


@pytest.mark.parametrize("seed", range(6))
def test_the_scheduler_follows_the_specification_through_a_long_crowded_trace(seed):
    rng = np.random.default_rng(seed)
    spec = tiny(
        ranks=1 + seed % 2, per_group=4, scope=["all_bank", "same_bank", "per_bank"][seed % 3],
        postponed=1, timing={"command_buses": 1 + seed // 3}, tREFI=350,
    )
    banks = spec.organisation.ranks * spec.organisation.banks
    at = [address(spec, b, r, c) for b, r, c in rng.integers(0, (banks, 3, 4), (200, 3))]
    trace = make_requests(at, np.cumsum(rng.integers(0, 9, 200)), rng.random(200) < 0.3)
    policy = Policy(page=list(Page)[seed % 2], starvation_cap=6)
    report = simulate(spec, trace, policy=policy, queue=12, record_commands=True)
    slow = reference(spec, policy, 12, trace)
    assert report.channels.total.refreshes > 0
    assert of_requests(report.commands[0]) == of_requests(slow.commands)


@given(cases())
@settings(max_examples=60)
def test_no_command_stream_violates_a_constraint(case):
    spec, policy, queue, trace = case
    report = simulate(spec, trace, policy=policy, queue=queue, record_commands=True)
    assert violations(spec, report.commands[0]) == []


@pytest.mark.parametrize("name", ["hbm3_6400", "gddr6_14000", "ddr5_4800"])
@pytest.mark.parametrize("page", list(Page))
def test_no_command_of_a_real_memory_violates_a_constraint(name, page):
    spec = load_dram(name)
    shape = spec.organisation
    rng = np.random.default_rng(1)
    at = rng.integers(0, 4000, 40 * shape.channels) * 256
    trace = make_requests(at, 0, rng.random(len(at)) < 0.3)
    report = simulate(spec, trace, policy=Policy(page=page), record_commands=True)
    assert sum(len(commands) for commands in report.commands) > len(trace)
    for commands in report.commands[:4]:
        assert violations(spec, commands) == []


@given(cases())
@settings(max_examples=40)
def test_every_request_is_answered_once_and_no_byte_is_lost(case):
    spec, policy, queue, trace = case
    report = simulate(spec, trace, policy=policy, queue=queue, record_commands=True)
    commands = report.commands[0]
    bursts = commands[np.isin(commands["kind"], [Command.READ, Command.WRITE])]
    assert sorted(bursts["request"]) == list(range(len(trace)))
    assert (report.done_cycle > trace["arrival_cycle"]).all()
    total = report.channels.total
    assert total.read_bytes[0] == 32 * np.count_nonzero(~trace["is_write"])
    assert total.write_bytes[0] == 32 * np.count_nonzero(trace["is_write"])
    assert total.row_hits + total.row_misses + total.row_conflicts == len(trace)
    assert total.latency_histogram.sum() == len(trace)


@given(cases())
@settings(max_examples=40)
def test_counts_are_those_of_the_recorded_commands(case):
    spec, policy, queue, trace = case
    report = simulate(spec, trace, policy=policy, queue=queue, record_commands=True)
    commands, total = report.commands[0], report.channels.total
    count = {kind: np.count_nonzero(commands["kind"] == kind) for kind in Command}
    assert total.activations == count[Command.ACTIVATE]
    assert total.precharges == count[Command.PRECHARGE] + count[Command.AUTO_PRECHARGE]
    assert total.refreshes == count[Command.REFRESH]
    # a bank is open from its activation to its precharge; count the cycles of each rank by hand
    is_open = np.zeros((spec.organisation.ranks * spec.organisation.banks, total.cycles), bool)
    since = {}
    for cycle, kind, bank, _, _ in commands.tolist():
        if kind == Command.ACTIVATE:
            since[bank] = cycle
        elif kind in (Command.PRECHARGE, Command.AUTO_PRECHARGE):
            is_open[bank, since.pop(bank) : cycle] = True
    for bank, cycle in since.items():
        is_open[bank, cycle:] = True
    by_rank = is_open.reshape(spec.organisation.ranks, spec.organisation.banks, -1)
    assert total.active_cycles == by_rank.any(axis=1).sum()


def test_a_starved_request_goes_after_as_many_others_as_the_cap_says():
    spec = tiny(tREFI=100_000)
    hits = [address(spec, 0, 0, i % 4) for i in range(40)]
    trace = make_requests([hits[0], address(spec, 0, 1), *hits])
    for cap in (1, 3, 8):
        done = simulate(spec, trace, policy=Policy(starvation_cap=cap), queue=64).done_cycle
        assert np.count_nonzero(done < done[1]) == 1 + cap


def test_the_open_page_policy_keeps_a_row_and_the_closed_one_does_not():
    spec = tiny(tREFI=100_000)
    trace = make_requests([address(spec, 0, 3, column) for column in range(4)], [0, 90, 180, 270])
    kept = simulate(spec, trace).channels.total
    closed = simulate(spec, trace, policy=Policy(page=Page.CLOSED)).channels.total
    assert (kept.row_hits[0], kept.activations[0]) == (3, 1)
    assert (closed.row_misses[0], closed.activations[0]) == (4, 4)


def test_idle_memory_keeps_being_refreshed_up_to_the_end_of_the_run():
    spec = tiny(scope="all_bank", postponed=0)
    last = 3_000_000
    report = simulate(spec, make_requests([0, 0], [0, last]))
    assert report.channels.refreshes[0] == report.channels.cycles // 300


def test_one_source_waits_for_the_full_queue_and_channels_of_their_own_do_not():
    spec = load_dram("hbm3_6400")
    one_channel = np.arange(400) * 8192
    other = np.full(100, 256)
    trace = make_requests(np.concatenate([one_channel, other]))
    alone = simulate(spec, trace).done_cycle[400:]
    behind = simulate(spec, trace, policy=Policy(requests_per_cycle=4)).done_cycle[400:]
    assert alone.max() < 500 < behind.min()


def test_one_fast_source_of_one_channel_makes_no_difference():
    spec = tiny()
    rng = np.random.default_rng(3)
    trace = make_requests(rng.integers(0, 256, 500) * 32, np.arange(500) // 2, rng.random(500) < .4)
    per_channel = simulate(spec, trace, queue=8)
    in_order = simulate(spec, trace, queue=8, policy=Policy(requests_per_cycle=500))
    assert per_channel.done_cycle.tolist() == in_order.done_cycle.tolist()
