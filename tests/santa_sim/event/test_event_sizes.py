"""Sizes that cannot work are refused with the reason and what would work."""

import re

import pytest
from event_cases import captured, machine, made_up, planned, ran
from hypothesis import given, settings
from hypothesis import strategies as st

from hw_models.catalogue import load_accelerator
from hw_models.problems import SpecError
from santa_sim.event import KvLayout, Sizes, memory_of, run
from santa_sim.methods import method

COMB = method("s2anta_comb", samples=64)


def with_pipeline(**changes):
    accelerator, memory = machine()
    pipeline = accelerator.pipeline.model_copy(update=changes)
    return accelerator.model_copy(update={"pipeline": pipeline}), memory


@pytest.mark.parametrize(
    ("name", "needs"), [("stream", 64 * 128), ("scores", 3 * 64 * 4), ("gather", None),
                        ("indices", None)],
)
def test_a_buffer_smaller_than_a_tile_is_refused_with_the_smallest_that_works(name, needs):
    _, made = planned(COMB, captured())
    most = made.schedule.largest[name]
    assert needs is None or most == needs
    buffers = machine()[0].pipeline.buffers
    small, memory = with_pipeline(buffers=buffers.model_copy(update={name: most - 1}))
    message = (f"buffers.{name}: holds {most - 1:,} bytes, and one piece of work takes {most:,}; "
               f"the smallest value that works is {most}")
    with pytest.raises(SpecError, match=re.escape(message)):
        run(made, small, memory)
    enough, _ = with_pipeline(buffers=buffers.model_copy(update={name: most}))
    assert run(made, enough, memory).time_s > 0


def test_an_sram_that_cannot_hold_the_working_set_is_refused_with_the_smallest_that_works():
    accelerator, memory = machine()
    _, made = planned(COMB, captured())
    sizes = accelerator.pipeline.buffers
    resident = 2 * made.schedule.largest["resident"]
    needed = sizes.stream + sizes.gather + sizes.scores + sizes.indices + resident
    def of(capacity):
        buffer = accelerator.buffer.model_copy(update={"capacity_bytes": capacity})
        return accelerator.model_copy(update={"buffer": buffer})
    with pytest.raises(SpecError, match=f"the smallest value that works is {needed}"):
        run(made, of(needed - 1), memory)
    report = run(made, of(needed), memory)
    assert 0 < report.sram_high_bytes <= needed


def test_a_machine_without_a_pipeline_is_refused():
    for name in ("h200_sxm", "edge_bf16_7nm_lpddr5"):
        with pytest.raises(SpecError, match=f"{name} has no pipeline, so it cannot be simulated"):
            memory_of(load_accelerator(name))


def test_an_unknown_unit_and_an_impossible_rate_are_refused():
    with pytest.raises(SpecError, match=r"no unit 'samplr'; did you mean 'sampler'\?"):
        ran(COMB, captured(), sizes=Sizes(rates={"samplr": 1e9}))
    with pytest.raises(SpecError, match="a unit's rate is at least 1 op/s, got 0"):
        ran(COMB, captured(), sizes=Sizes(rates={"sampler": 0.0}))


@settings(max_examples=12)
@given(st.integers(1, 6), st.sampled_from(list(KvLayout)),
       st.sampled_from([COMB, method("s2anta_flash", samples=128), method("dense")]))
def test_depth_means_so_many_tiles_in_each_buffer_and_so_many_transfers(depth, layout, spec):
    report = ran(spec, captured(), layout=layout, sizes=Sizes(depth=depth))
    largest = report.schedule.largest
    for name in ("stream", "gather", "scores"):
        assert report.machine.buffers[name] == depth * largest.get(name, 1)
    slots = {use.name: use.slots for use in report.tracks}
    assert slots["stream"] == slots["gather"] == depth
    assert slots["score"] == 1
    budget = sum(report.machine.buffers[name] for name in largest)
    assert report.sram_high_bytes <= budget


def test_deeper_buffers_hide_more_latency():
    times = [ran(COMB, captured(), sizes=Sizes(depth=depth)).time_s for depth in (1, 2, 4)]
    assert times[0] > 1.2 * times[1] > 1.0 * times[2]


def test_a_second_head_in_flight_fills_the_gap_between_the_passes_of_the_first():
    _, made = planned(COMB, captured())
    times = []
    for heads in (1, 2):
        machine_, memory = with_pipeline(resident=heads)
        report = run(made, machine_, memory)
        times.append(report.time_s)
        # heads whose queries are on the chip and whose output has not been stored
        starts = [report.timeline.start[i] for i, s in enumerate(made.schedule.steps)
                  if s.label.startswith("q ")]
        ends = [report.timeline.end[i] for i, s in enumerate(made.schedule.steps)
                if s.label.startswith("out ")]
        most = max(sum(s <= at < e for s, e in zip(starts, ends, strict=True)) for at in starts)
        assert most == heads
    assert times[1] < 0.95 * times[0]


def test_sequences_of_a_batch_follow_one_another_without_a_gap():
    alone = [ran(COMB, made_up(1, (n,))).time_s for n in (1000, 333)]
    together = ran(COMB, made_up(2, (1000, 333))).time_s
    assert max(alone) < together < 0.98 * sum(alone)
