import numpy as np
import pytest

from hw_models.ledger import OpKind, Tensor
from santa_sim.data.capture import load_capture
from santa_sim.methods import decode, method
from santa_sim.study.averaged import averaged


@pytest.fixture(scope="module")
def steps():
    return load_capture("smollm2-135m").steps(traces=["t3"])


def ledgers(steps, spec, seeds):
    return [
        decode(spec, step.q, step.k, step.v, seq_lens=step.seq_lens, sm_scale=step.sm_scale,
               seed=seed, step=step.step, layer=step.layer).ledger
        for seed in range(seeds) for step in steps
    ]


def test_dense_reads_the_mean_length_of_its_steps_and_no_more(steps):
    assert [step.context for step in steps] == [2045, 2046, 2047, 2048]
    mean = averaged(ledgers(steps, method("dense"), 1))
    for tensor in (Tensor.K, Tensor.V):
        assert mean.bytes("moved", tensor=tensor) == 2046.5 * 3 * 64 * 2
    assert len([key for key in mean.streams if key.tensor is Tensor.K]) == 1


@pytest.mark.parametrize(
    "spec",
    [
        method("dense"),
        method("bernoulli_qk", trials=16),
        method("santa_systematic", samples=256),
        method("s2anta_comb", samples=256),
        method("s2anta_flash", samples=256),
        method("s2anta_comb", samples=256, scores={"name": "bernoulli_qk", "trials": 4}),
    ],
    ids=str,
)
def test_sums_of_the_mean_are_means_of_the_sums(steps, spec):
    each = ledgers(steps, spec, 3)
    mean = averaged(each)
    for figure in ("logical", "unique", "moved", "workspace"):
        for tensor in Tensor:
            true = np.mean([one.bytes(figure, tensor=tensor) for one in each])
            # each size of segment is rounded to a whole number of them: half of one, of which the
            # largest that differ between seeds are a feature's keys of one head, 2 bytes each
            slack = max(0.01 * true, 2 * 2048)
            assert abs(mean.bytes(figure, tensor=tensor) - true) <= slack, (figure, tensor)
    for kind in (OpKind.MULTIPLY, OpKind.ADD, OpKind.EXP):
        true = np.mean([one.count(kind) for one in each])
        assert mean.count(kind) == pytest.approx(true, rel=1e-3, abs=2)


def test_equal_ledgers_are_their_own_mean(steps):
    (one,) = ledgers(steps[:1], method("s2anta_comb", samples=64), 1)
    assert averaged([one, one, one]) == one
    with pytest.raises(ValueError, match="no ledgers"):
        averaged([])
