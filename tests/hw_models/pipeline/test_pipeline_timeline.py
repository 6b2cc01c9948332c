"""A run is what its schedule, its machine and its memory imply, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from small_pipelines import LARGE, LPDDR5, broken_rules, cases, machine, streams, two_passes

from hw_models.pipeline import Schedule, Step, Transfer, simulate
from hw_models.pipeline.bounds import MEMORY

ITEMS = [(20, 700, 100, 5, 40), (3, 10, 500, 9, 300), (40, 100, 0, 0, 0), (11, 900, 30, 7, 900)]


@settings(deadline=None, max_examples=60)
@given(cases())
def test_every_step_starts_as_soon_as_it_can_and_lasts_as_long_as_it_must(case):
    assert broken_rules(simulate(*case)) == []


def test_the_rules_notice_a_step_that_starts_late_and_a_transfer_that_ends_early():
    report = simulate(two_passes(ITEMS), machine())
    late = replace(report.timeline, start=report.timeline.start + 1)
    assert broken_rules(replace(report, timeline=late))
    end = report.timeline.end.copy()
    end[report.timeline.order[-1]] -= 1
    assert broken_rules(replace(report, timeline=replace(report.timeline, end=end)))


@settings(deadline=None, max_examples=40)
@given(cases())
def test_the_states_of_a_track_add_up_and_busy_is_what_its_steps_took(case):
    report = simulate(*case)
    lasting = report.timeline.end - report.timeline.start
    for use in report.tracks:
        states = (use.busy_s, use.stalled_s, use.blocked_s, use.idle_s)
        assert min(states) >= 0
        assert sum(states) == pytest.approx(report.time_s, rel=1e-12)
        own = list(report.schedule.tracks[use.name])
        assert use.busy_s * use.slots == pytest.approx(lasting[own].sum() * 1e-12, rel=1e-12)
        assert use.steps == len(own)


@settings(deadline=None, max_examples=40)
@given(cases())
def test_every_byte_arrives_once_and_channels_sum_to_the_total(case):
    schedule, sizes = case
    report = simulate(schedule, sizes)
    bursts = sum(
        len(t.start) * -(-t.segment_bytes // 32)
        for t in (schedule.steps[i].transfer for i in schedule.transfers)
    )
    assert report.channels.total.requests.tolist() == [bursts]
    assert int(report.channels.requests.sum()) == bursts
    assert report.memory_bytes == 32 * bursts
    assert sorted(report.timeline.order.tolist()) == list(schedule.transfers)


@settings(deadline=None, max_examples=40)
@given(cases())
def test_time_lies_between_the_roofline_and_one_step_after_the_other(case):
    schedule, sizes = case
    report = simulate(schedule, sizes)
    assert report.time_s >= report.bounds.roofline_s * (1 - 1e-12)
    # something always runs, so the time is at most the sum of what the steps took
    lasting = report.timeline.end - report.timeline.start
    assert report.time_s <= lasting.sum() * 1e-12 * (1 + 1e-12)
    # against a run in which nothing overlaps: transfers that meet in a bank may close each other's
    # rows, which costs a precharge and an activation per burst at most
    timing = sizes.memory.timing
    misses_s = report.channels.total.requests[0] * (timing.tRP + timing.tRCD_RD) * timing.tCK_ps
    assert report.time_s <= simulate(chained(schedule), sizes).time_s + misses_s * 1e-12


def test_a_pipeline_of_tiles_is_faster_than_one_step_after_the_other():
    schedule = two_passes([(64, 900, 700, 8, 900)] * 30)
    alone, together = (simulate(s, machine()).time_s for s in (chained(schedule), schedule))
    assert together < 0.6 * alone


def chained(schedule):
    return Schedule(tuple(
        replace(step, after=tuple({*step.after, i - 1})) if i else step
        for i, step in enumerate(schedule.steps)
    ))


def test_time_comes_to_the_roofline_with_unlimited_buffers_and_units():
    # 4 MiB in one stream: what is above bytes over peak is refresh and the first access, and the
    # memory alone has them too; the pipeline adds the way to and from the memory and one tile
    report = simulate(
        streams(1024), machine(rates={"array": 1e15}, in_flight={"fetch": 64})
    )
    assert report.bounds.roofline_s == report.bounds.resources[MEMORY]
    assert report.time_s <= report.bounds.memory_alone_s + 2 * 20e-9 + 2e-9
    assert report.time_s <= 1.01 * report.bounds.roofline_s
    assert (report.bottleneck, report.memory_share > 0.999) == (MEMORY, True)
    # and with a slow unit to that unit's roof: one fetch and the way come first
    slow = simulate(streams(1024, work=300_000), machine(in_flight={"fetch": 64}))
    assert slow.bounds.roofline_s == slow.bounds.resources["array"]
    assert slow.time_s <= slow.bounds.roofline_s + 1e-6
    assert slow.bottleneck == "array"


@settings(deadline=None, max_examples=40)
@given(cases())
def test_a_slower_unit_never_gives_a_shorter_time(case):
    # exact for the pipeline itself: starts are maxima of ends. A first-ready scheduler of a real
    # memory may serve a later arrival sooner, by at most what it reorders: one queue of row misses
    schedule, sizes = case
    slow = replace(sizes, rates={unit: rate / 2 for unit, rate in sizes.rates.items()})
    timing = LPDDR5.timing
    reordered_s = sizes.queue * timing.tRC * timing.tCK_ps * 1e-12
    assert simulate(schedule, slow).time_s >= simulate(schedule, sizes).time_s - reordered_s


@pytest.mark.parametrize("unit", ["array", "scan", "adders"])
def test_time_grows_with_the_slowness_of_each_unit_where_transfers_do_not_meet(unit):
    # one transfer at a time and nothing else in the memory: no reordering, so no exception
    times = []
    for rate in (8e9, 4e9, 2e9, 1e9, 5e8, 2e8):
        sizes = machine(in_flight={"fetch": 1}, rates={**machine().rates, unit: rate})
        times.append(simulate(two_passes([(b, w, s, 0, 0) for b, w, s, _, _ in ITEMS]), sizes))
    assert [r.time_s for r in times] == sorted(r.time_s for r in times)


def test_larger_buffers_and_more_transfers_in_flight_hide_the_latency():
    schedule = streams(200, bursts=64, work=10)
    size = 64 * 32
    times = [
        simulate(schedule, machine(buffers={"stream": n * size}, in_flight={"fetch": n})).time_s
        for n in (1, 2, 3, 4, 8)
    ]
    assert times == sorted(times, reverse=True)
    # one tile of 2 KB takes 40 ns of the bus, and the way and the access some 90 ns on top
    assert times[0] > 3 * times[-1]


def test_one_schedule_gives_one_timeline():
    first, second = (simulate(two_passes(ITEMS), machine()) for _ in range(2))
    for name in ("start", "end", "slot", "order", "filled_at", "filled"):
        assert np.array_equal(getattr(first.timeline, name), getattr(second.timeline, name))
    assert first.time_s == second.time_s
    assert first.memory_energy == second.memory_energy


def test_fast_tracks_wait_for_room_and_slow_ones_never_for_input():
    report = simulate(
        streams(50, work=10_000), machine(buffers={"stream": 3 * 4096}, in_flight={"fetch": 3})
    )
    uses = {use.name: use for use in report.tracks}
    assert uses["fetch"].blocked_s > 0.8 * report.time_s
    assert uses["array"].busy_s > 0.97 * report.time_s
    assert report.sram_high_bytes == 3 * 4096


def test_writes_go_to_the_memory_too():
    schedule = Schedule((
        Step("array", "make", {"array": 100}, takes=(("stream", 64),)),
        Step("store", "store", {}, Transfer(np.array([128]), 64, is_write=True), (0,),
             gives_back=(("stream", 64),)),
    ))
    report = simulate(schedule, machine())
    assert report.channels.total.writes.tolist() == [2]
    assert broken_rules(report) == []


def test_a_schedule_without_steps_takes_no_time():
    report = simulate(Schedule(()), machine())
    assert (report.time_s, report.tracks, report.memory_bytes) == (0.0, (), 0)
    assert report.memory_share == report.bus_share == 0.0


def test_open_rows_carry_over_from_one_transfer_to_the_next():
    # the same row again and again, and no refresh that would close it
    seldom = LPDDR5.refresh.model_copy(update={"tREFI": 10**8})
    memory = LPDDR5.model_copy(update={"refresh": seldom})
    fetch = [Step("fetch", f"{i}", {"scan": 50}, Transfer(np.array([0]), 32)) for i in range(10)]
    report = simulate(Schedule(tuple(fetch)), machine(in_flight={"fetch": 1}, memory=memory))
    assert report.channels.total.activations.tolist() == [1]
    assert report.channels.total.row_hits.tolist() == [9]


def test_an_unlimited_buffer_is_never_waited_for():
    report = simulate(two_passes(ITEMS), machine(buffers=dict.fromkeys(
        ("stream", "lists", "rows"), LARGE)))
    assert all(use.blocked_s == 0 for use in report.tracks)
