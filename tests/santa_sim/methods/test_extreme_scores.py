"""Empty and tiny contexts, one-hot, equal and huge scores: no NaN, no row of probability 0."""

import numpy as np
import pytest
from method_cases import SAMPLED, every_method, exact_attention, random_inputs, sampled

from santa_sim.methods import decode, expect, label
from santa_sim.methods.spec import value_stage


def ids(spec):
    return label(spec).replace(" ", "_")


@pytest.mark.parametrize("spec", every_method(20, tile=16), ids=ids)
def test_an_empty_context_gives_zeros_and_costs_nothing(spec):
    q, k, v = random_inputs(1, n=0)
    got = decode(spec, q, k, v)
    assert not got.out.any()
    assert not got.unique_rows.any()
    assert not got.effective_samples.any()
    assert (got.rows is None) == (value_stage(spec) == "dense")
    assert got.ledger.count() == 0
    assert got.ledger.bytes("logical") == 0
    assert expect(spec, q, k).ledger == got.ledger


@pytest.mark.parametrize("spec", every_method(20, tile=16), ids=ids)
def test_one_key_gives_its_value(spec):
    q, k, v = random_inputs(1, n=1)
    got = decode(spec, q, k, v)
    # 20 · (1/20) · v is v to one rounding in float64, far below float32's
    np.testing.assert_array_equal(got.out, np.repeat(v[:, 0], 2, axis=1))
    assert (got.unique_rows == 1).all()


def keys_for(scores):
    """q and K of four features whose inner products are the given scores; sm_scale 1."""
    q = np.zeros((1, 2, 4), np.float32)
    q[..., 0] = 1
    k = np.zeros((1, len(scores), 1, 4), np.float32)
    k[0, :, 0, 0] = scores
    return q, k


N = 45
ONE_HOT = np.full(N, -1e4)
ONE_HOT[N - 1] = 1e4
TWO_HOT = np.full(N, -1e37)  # eight ternary digits still stay below float32's largest, 3.4e38
TWO_HOT[[3, 40]] = 1e37
SCORES = {
    "equal": np.full(N, 7.0),
    "zero": np.zeros(N),
    "one-hot, the newest row": ONE_HOT,
    "one-hot, the oldest row": ONE_HOT[::-1],
    "two rows of 1e37": TWO_HOT,
    "rising to 1e30": np.linspace(-1e30, 1e30, N),
    "all at -1e30": np.full(N, -1e30),
    "steps of 40": -40.0 * np.arange(N),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("spec", every_method(20, tile=16) + every_method(2, tile=4), ids=ids)
def test_extreme_scores_draw_rows_with_mass_only(spec, name):
    q, k = keys_for(SCORES[name])
    v = np.random.default_rng(3).uniform(-1, 1, k.shape).astype(np.float32)
    for seed in range(2):
        got = decode(spec, q, k, v, sm_scale=1.0, seed=seed)
        assert np.abs(got.out).max() <= 1 + 1e-6
        if value_stage(spec) == "dense":
            assert np.abs(got.out - exact_attention(q, k, v, 1.0)).max() < 1e-6
            continue
        for head in range(2):
            rows, times = got.rows.of(0, head)
            assert times.sum() == got.effective_samples[0, head]
            s = k[0, :, 0, 0].astype(np.float64)
            peak = s.max()
            if value_stage(spec) == "s2anta_flash":
                starts = np.arange(0, N, spec.tile)
                peak = np.repeat(np.maximum.reduceat(s, starts), spec.tile)[:N]
            # weights below float32's smallest number, exp(−103.3), are none
            assert ((s - peak)[rows] > -104).all()


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("spec", every_method(20, tile=16), ids=ids)
def test_extreme_scores_have_an_expectation(spec, name):
    q, k = keys_for(SCORES[name])
    result = expect(spec, q, k, sm_scale=1.0)
    assert np.isfinite(result.unique_rows).all()
    assert (result.unique_rows <= N + 1e-9).all()
    assert (result.unique_rows >= 1 - 1e-9).all()


@pytest.mark.parametrize("name", [n for n in SAMPLED if n != "s2anta_flash"])
def test_a_one_hot_row_takes_every_draw(name):
    q, k = keys_for(ONE_HOT)
    got = decode(sampled(name, 20, tile=16), q, k, k, sm_scale=1.0)
    for head in range(2):
        rows, times = got.rows.of(0, head)
        assert (rows.tolist(), times.tolist()) == ([N - 1], [20])
    np.testing.assert_array_equal(got.out, np.repeat(k[:, N - 1], 2, axis=1))


@pytest.mark.parametrize("name", ["santa_systematic", "s2anta_comb", "s2anta_prop", "s2anta_flash"])
@pytest.mark.parametrize("times", [1, 3])
def test_equal_scores_and_s_a_multiple_of_n_give_the_plain_mean(name, times):
    q, k = keys_for(np.zeros(48))
    v = np.random.default_rng(4).normal(size=k.shape).astype(np.float32)
    got = decode(sampled(name, 48 * times, tile=16), q, k, v, sm_scale=1.0)
    assert (got.rows.counts == times).all()
    mean = v.astype(np.float64).mean(axis=1)
    np.testing.assert_allclose(got.out, np.repeat(mean, 2, axis=1), rtol=1e-6, atol=1e-6)
