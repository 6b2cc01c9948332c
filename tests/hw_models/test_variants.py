from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw_models.catalogue import load_accelerator
from hw_models.evaluate import Evaluation, evaluate
from hw_models.evaluate_many import evaluate_many
from hw_models.ledger import Dtype, Ledger, OpKey, OpKind, Phase
from hw_models.lowering import Misfit
from hw_models.problems import SpecError
from hw_models.variants import stacked, varied
from santa_sim.data.capture import load_capture
from santa_sim.methods import decode, method

BASES = ("edge_bf16_7nm_lpddr5", "edge_ternary_7nm_lpddr5", "h200_sxm", "edge_bf16_7nm_sram")
PATHS = (
    "memory.peak_bandwidth", "memory.streaming_efficiency", "memory.energy.board.read",
    "memory.energy.device.write", "buffer.capacity_bytes", "memory.granularity_bytes",
    "memory.gather_efficiency",
)


@cache
def ledgers():
    step = load_capture("smollm2-135m").steps(traces=["t3"], steps=[0])[0]
    specs = [
        method("dense"), method("santa_iid", samples=100), method("s2anta_flash", samples=256),
        method("s2anta_comb", samples=64,
               scores={"name": "bernoulli_qk", "trials": 8, "scale": "power_of_two"}),
    ]
    return [decode(spec, step.q, step.k, step.v).ledger for spec in specs]


def assert_equal(costs, i, one):
    if isinstance(one, Misfit):
        assert costs.missing == one.missing
        return
    assert isinstance(one, Evaluation)
    assert costs.lowered.ledger == one.lowered.ledger
    for end in ("low", "nominal", "high"):
        assert getattr(costs.time_s, end)[i] == getattr(one.time.time_s, end)
        assert getattr(costs.no_overlap_time_s, end)[i] == getattr(one.time.no_overlap_time_s, end)
        for account, report in one.energy.items():
            assert getattr(costs.energy_j[account], end)[i] == getattr(report.total_j, end)
    assert costs.bound[i] == one.time.bound
    assert set(costs.energy_j) == set(one.energy)


@given(data=st.data())
def test_many_machines_at_once_cost_bit_for_bit_what_each_costs_alone(data):
    base = load_accelerator(data.draw(st.sampled_from(BASES)))
    paths = data.draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=4, unique=True))
    values = {
        "memory.granularity_bytes": st.sampled_from([16, 32, 64]),
        "buffer.capacity_bytes": st.integers(1, 2**26),
        "memory.streaming_efficiency": st.floats(0.05, 0.6),
        "memory.gather_efficiency": st.floats(0.05, 0.6),
    }
    change = st.fixed_dictionaries({
        path: values.get(path, st.floats(1e-3, 1e13, allow_subnormal=False)) for path in paths
    })
    changes = data.draw(st.lists(change, min_size=1, max_size=5))
    seen = []
    for stack, indices in stacked(base, changes):
        for ledger in ledgers():
            costs = evaluate_many(ledger, stack)
            for i, index in enumerate(indices):
                alone = varied(base, changes[index])
                assert stack.names[i] == alone.name
                assert_equal(costs, i, evaluate(ledger, alone))
        seen += indices
    assert sorted(seen) == list(range(len(changes)))


def test_a_constant_keeps_the_proportions_of_its_range():
    base = load_accelerator("h200_sxm")
    was, now = base.memory.peak_bandwidth, varied(base, {"memory.peak_bandwidth": 1e12}).memory
    now = now.peak_bandwidth
    assert now.value == 1e12
    assert now.low / now.value == pytest.approx(was.low / was.value)
    assert now.high / now.value == pytest.approx(was.high / was.value)
    assert now.confidence == "judgement"
    assert was.source in now.source


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("memory.peak_bandwith", 1e12, "did you mean 'peak_bandwidth'?"),
        ("memory", 1.0, "holds no number"),
        ("memory.type", 1.0, "holds no number"),
        ("memory.peak_bandwidth", "fast", "must be a number, got 'fast'"),
        ("memory.peak_bandwidth", True, "must be a number"),
        ("memory.peak_bandwidth", -1.0, "greater than or equal to 0"),
        ("memory.peak_bandwidth", float("nan"), "finite"),
        ("memory.streaming_efficiency", 1.5, "at most 1"),
        ("buffer.capacity_bytes", 0, "greater than 0"),
        ("buffer.capacity_bytes", 1.5, "valid integer"),
    ],
)
def test_a_wrong_change_is_named(path, value, words):
    with pytest.raises(SpecError, match=words.replace("?", r"\?")):
        varied(load_accelerator("h200_sxm"), {path: value})


def test_a_cost_that_is_not_finite_is_an_error():
    base = load_accelerator("h200_sxm")
    ledger = Ledger({OpKey(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16): 2**60})
    changes = [{"arithmetic.units.tensor_cores.rate": rate} for rate in (1e12, 1e-300)]
    ((stack, _),) = stacked(base, changes)
    with pytest.raises(ValueError, match="not finite"), np.errstate(over="ignore"):
        evaluate_many(ledger, stack)
