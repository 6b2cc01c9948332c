"""What a pipeline is given to do is what the sampled level did: rows, bytes, operations, joules."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from event_cases import MACHINES, METHODS, captured, machine, made_up, planned, ran
from hypothesis import given
from hypothesis import strategies as st

from hw_models.entries import Phase, Tensor
from hw_models.evaluate import evaluate
from hw_models.lowering import Misfit
from hw_models.pipeline import power_curve
from hw_models.quantity import Constant, Interval
from hw_models.roofline import roofline
from santa_sim.event import KvLayout, Sizes, StepShape, plan
from santa_sim.event.flow import tile_of
from santa_sim.event.plan import energy_of, step_energies
from santa_sim.event.split import apportioned
from santa_sim.methods import decode, method
from santa_sim.methods.spec import label

each_method = pytest.mark.parametrize("spec", METHODS, ids=label)
STEPS = {"made up": made_up, "captured": captured}
each_step = pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)


@each_method
@each_step
def test_the_steps_do_every_operation_of_the_ledger_and_no_other(spec, make):
    _, made = planned(spec, make())
    by_unit = {}
    for work in made.lowered.work:
        by_unit[work.unit] = by_unit.get(work.unit, 0) + work.count
    assert dict(made.schedule.operations) == by_unit
    phase_of = {work.unit: work.op.phase for work in made.lowered.work}
    for step, phase in zip(made.schedule.steps, made.phases, strict=True):
        assert {phase_of[unit] for unit in step.work} <= {phase}


@each_method
@each_step
def test_the_transfers_move_the_bytes_of_the_ledger(spec, make):
    _, made = planned(spec, make())
    ledger = made.lowered.ledger
    moved = {}
    for step, phase in zip(made.schedule.steps, made.phases, strict=True):
        if step.transfer is not None:
            moved[phase] = moved.get(phase, 0) + step.transfer.bytes
    assert moved[Phase.VALUE] == ledger.bytes("moved", tensor=Tensor.V)
    assert moved[Phase.MERGE] == ledger.bytes("moved", tensor=Tensor.OUT)
    assert moved[Phase.SCORE] == sum(
        ledger.bytes("moved", tensor=tensor) for tensor in (Tensor.K, Tensor.Q)
    )


@each_method
def test_the_gathered_rows_are_those_that_decode_drew(spec):
    step = made_up()
    decoded, made = planned(spec, step)
    row_bytes, kv_heads, n = 128, 2, 1000
    base = min(
        int(s.transfer.start.min()) for s in made.schedule.steps if s.label.startswith("V b0 h0")
    )
    drawn, read = [], []
    for s in made.schedule.steps:
        if s.label.startswith("V "):
            read += ((s.transfer.start - base) // row_bytes).tolist()
    for b in range(2):
        for h in range(kv_heads):
            rows = (np.arange(step.seq_lens[b]) if decoded.rows is None
                    else decoded.rows.union(b, h, 3))
            drawn += ((b * kv_heads + h) * n + rows).tolist()
    first = min(drawn)  # of the first head, whose first row need not be 0
    assert sorted(np.array(read) + first) == sorted(drawn)


@each_method
def test_a_layout_changes_addresses_and_no_count(spec):
    plans = [planned(spec, made_up(), layout=layout)[1] for layout in KvLayout]
    for other in plans[1:]:
        assert other.schedule.operations == plans[0].schedule.operations
        assert other.lowered == plans[0].lowered
        assert other.schedule.largest == plans[0].schedule.largest


@each_method
@pytest.mark.parametrize("account", ["device", "board"])
def test_energy_over_time_integrates_to_that_of_the_ledger(spec, account):
    accelerator, _ = machine()
    _, made = planned(spec, captured())
    report = ran(spec, captured())
    # the ledger's energy is what `evaluate` says, but for static power, which goes by the time
    from_ledger = evaluate(
        decode(spec, *inputs(captured()), **options(captured())).ledger, accelerator,
        lambda lowered, acc: replace(
            roofline(lowered, acc), time_s=Interval.exact(report.time_s)
        ),
    ).energy[account].total_j.nominal
    steps_j, static_j = step_energies(
        made, energy_of(made, accelerator, account, report.time_s)
    )
    assert steps_j.sum() + static_j == pytest.approx(from_ledger, rel=1e-12)
    # what moves pays for memory and staging, what computes for operations and workspace
    parts = energy_of(made, accelerator, account, report.time_s).by_name()
    moving = {"main memory read", "main memory write", "row activation", "staging"}
    is_transfer = np.array([step.transfer is not None for step in made.schedule.steps])
    assert steps_j[is_transfer].sum() == pytest.approx(
        sum(joules.nominal for name, joules in parts.items() if name in moving), rel=1e-12
    )
    curve = power_curve(report.timeline, steps_j, static_j / report.time_s, 57)
    # sums of ramps with cancellation: thousands of steps of double precision
    assert curve.energy_j == pytest.approx(from_ledger, rel=1e-9)
    assert (steps_j >= 0).all()
    assert (curve.power_w > 0).all()


def inputs(step):
    return step.q, step.k, step.v


def options(step):
    return {"seq_lens": step.seq_lens, "sm_scale": step.sm_scale, "seed": 0}


@each_method
@pytest.mark.parametrize("name", MACHINES)
def test_event_time_is_at_least_the_roofline_at_peak_bandwidth(spec, name):
    accelerator, memory = machine(name)
    report = ran(spec, captured(), name)
    peak = memory.peak_bytes_per_s  # within 3 % of the catalogue's figure
    one = Constant(value=1, low=1, high=1, unit="1", source="test", confidence="judgement")
    at_peak = accelerator.memory.model_copy(update={
        "streaming_efficiency": one, "gather_efficiency": one,
        "peak_bandwidth": Constant(value=peak, low=peak, high=peak, unit="B/s", source="test",
                                   confidence="judgement"),
    })
    ideal = accelerator.model_copy(update={"memory": at_peak})
    ledger = decode(spec, *inputs(captured()), **options(captured())).ledger
    roof = evaluate(ledger, ideal).time.time_s.nominal
    assert report.bounds.roofline_s == pytest.approx(roof, rel=1e-9)
    assert report.time_s >= roof * (1 - 1e-12)


def test_event_time_comes_to_the_roofline_with_unlimited_buffers_and_units():
    accelerator, _ = machine()
    fast = Sizes(rates=dict.fromkeys(accelerator.arithmetic.units, 1e15), depth=64)
    step = made_up(1, (16384,), 4, 2, 128)
    report = ran(method("dense"), step, sizes=fast)
    # what is left is refresh and row misses, which the memory alone has too, and one latency
    assert report.time_s <= report.bounds.memory_alone_s * 1.005 + 1e-7
    assert report.time_s <= 1.05 * report.bounds.roofline_s


def test_one_seed_gives_one_timeline_and_another_seed_another():
    spec = method("s2anta_comb", samples=64)
    first, second, other = (ran(spec, captured(), seed=seed) for seed in (5, 5, 6))
    assert np.array_equal(first.timeline.end, second.timeline.end)
    assert first.time_s == second.time_s
    assert first.time_s != other.time_s


@pytest.mark.parametrize("unit", ["score_adders", "exponentials", "sampler", "accumulators",
                                  "merger", "addresses"])
def test_a_slower_unit_takes_longer_or_as_long(unit):
    accelerator, memory = machine()
    rate = accelerator.arithmetic.units[unit].rate.value
    times = [
        ran(method("s2anta_flash", samples=256), captured(),
            sizes=Sizes(rates={unit: rate / slower})).time_s
        for slower in (0.5, 1, 4, 16, 64)
    ]
    # later arrivals may fall better between refreshes and rows: one memory access at most
    access_s = memory.timing.tRC * memory.timing.tCK_ps * 1e-12
    assert all(b >= a - access_s for a, b in pairwise(times))
    assert times[-1] > times[0]


@pytest.mark.parametrize("name", ["s2anta_comb", "s2anta_flash", "santa_systematic", "santa_iid"])
def test_the_sampler_of_a_tile_does_what_its_scores_and_draws_ask_for(name):
    step, size = made_up(1, (640,), 1, 3, 64), 64
    decoded, made = planned(method(name, samples=40), step)
    for drawn in (s for s in made.schedule.steps if s.label.startswith("draw ")):
        tile = int(drawn.label.rsplit("t", 1)[1])
        counts = [
            int(c[r // size == tile].sum()) for r, c in (decoded.rows.of(0, h) for h in range(3))
        ]
        draws, won = sum(counts), sum(c > 0 for c in counts)
        assert drawn.work["sampler"] == {
            # prefix sums and a walk over the scores of heads with a draw, a threshold per draw
            "s2anta_comb": 2 * (won * size + draws),
            # of all heads, and per head a tooth spacing and a random offset
            "s2anta_flash": 2 * (3 * size + draws) + 3 * 2,
            # the prefix sum is there: a walk along it
            "santa_systematic": 3 * size + 2 * draws,
            # a binary search among 640 scores per draw
            "santa_iid": 10 * draws,
        }[name]


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_shares_are_whole_proportional_and_complete(total, weights):
    if sum(weights) == 0:
        weights[0] = 1
    shares = apportioned(total, weights)
    assert sum(shares) == total
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - total * weight / sum(weights)) <= 1 + total * 1e-15
        assert (weight > 0) or share == 0


def test_work_that_no_step_can_do_is_an_error():
    assert apportioned(0, [0, 0]) == [0, 0]
    with pytest.raises(ValueError, match="no step that could do them"):
        apportioned(3, [0, 0])


def test_data_and_methods_without_exact_addresses_are_refused():
    accelerator, memory = machine()
    step = made_up()
    decoded = decode(METHODS[0], *inputs(step), **options(step))
    rows, ledger = decoded.rows, decoded.ledger
    few = StepShape.of(replace(step, represents=4))
    with pytest.raises(ValueError, match="each head here stands for 4; leave simulated_kv_heads"):
        plan(METHODS[0], few, rows, ledger, accelerator, KvLayout.HND, memory)
    ternary = method("bernoulli_qk", trials=4)
    with pytest.raises(ValueError, match="key_layout: token_major"):
        plan(ternary, StepShape.of(step), rows, ledger, accelerator, KvLayout.HND, memory)


def test_a_method_that_the_machine_cannot_run_is_a_misfit():
    accelerator, memory = machine()
    units = {k: u for k, u in accelerator.arithmetic.units.items() if k != "score_multipliers"}
    without = accelerator.model_copy(update={
        "arithmetic": accelerator.arithmetic.model_copy(update={"units": units})
    })
    step = made_up()
    decoded = decode(METHODS[0], *inputs(step), **options(step))
    made = plan(METHODS[0], StepShape.of(step), decoded.rows, decoded.ledger, without,
                KvLayout.HND, memory)
    assert isinstance(made, Misfit)


def test_an_empty_sequence_takes_no_steps():
    _, made = planned(METHODS[3], made_up(lens=(500, 0)))
    assert all(" b0 " in step.label for step in made.schedule.steps)
    assert planned(METHODS[3], made_up(lens=(5, 0)))[1].schedule.largest["stream"] == 5 * 128


def test_methods_without_tiles_work_on_tiles_of_64():
    assert [tile_of(spec) for spec in METHODS[:4]] == [64, 100, 128, 64]
    assert tile_of(method("santa_iid", samples=3)) == 64
