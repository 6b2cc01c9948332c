"""`bernoulli_qk`: digits in {−1, 0, 1}, unbiased scores, and their variance in closed form.

Digits are drawn for 2000 batch rows; each test is Bonferroni-corrected to a chance of failure of at
most 1e-3, and streams are fixed.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_cases import capture_step, random_inputs, z_bound

from santa_sim.methods import bernoulli_qk
from santa_sim.rng import stream_key
from santa_sim.storage import decode_stored

COUNT = 2000


def digits_of(query, trials, c, count=COUNT, head=0):
    """Summed digits int32 [count, d], one independent stream each."""
    out = np.zeros((count, len(query)), np.int32)
    for b in range(count):
        bernoulli_qk.ternary_digits(query, c, stream_key(1, 0, 0, b), head, trials, out[b])
    return out


QUERY = np.array([0.0, 1.5, -0.5, 0.125, -3.0, 2.0, 1e-3], np.float32)


@pytest.mark.parametrize("power_of_two", [False, True])
def test_digits_are_ternary_and_carry_the_sign_of_the_query(power_of_two):
    c = bernoulli_qk.digit_scale(QUERY, 1, power_of_two)
    digits = digits_of(QUERY, 1, c, 300)
    assert set(np.unique(digits)) <= {-1, 0, 1}
    assert ((digits == 0) | (np.sign(digits) == np.sign(QUERY))).all()
    assert not digits[:, 0].any()
    # the largest feature always has its digit when c is its magnitude: 3, or the power of two 4
    assert (np.abs(digits[:, 4]) == 1).all() == (not power_of_two)


@pytest.mark.parametrize("trials", [1, 6, 16])
@pytest.mark.parametrize("power_of_two", [False, True])
def test_digit_sums_are_binomial(trials, power_of_two):
    c = bernoulli_qk.digit_scale(QUERY, trials, power_of_two)
    sums = np.abs(digits_of(QUERY, trials, c)).astype(np.float64)
    share = np.abs(QUERY.astype(np.float64)) / c
    mean, variance = trials * share, trials * share * (1 - share)
    spread = variance > 0
    z = np.abs(sums.mean(axis=0) - mean)[spread] / np.sqrt(variance[spread] / COUNT)
    assert z.max() < z_bound(6 * 7)
    np.testing.assert_array_equal(sums[:, ~spread], np.broadcast_to(mean, sums.shape)[:, ~spread])


def real_head():
    step = capture_step("t3")
    query = step.q[0, 4] * np.float32(step.sm_scale)
    keys = decode_stored(step.k[0, ::100, 1]).astype(np.float64)
    return query, keys


@pytest.mark.parametrize("trials", [1, 8])
@pytest.mark.parametrize("power_of_two", [False, True])
@pytest.mark.parametrize("source", ["real", "random"])
def test_scores_are_unbiased_with_the_variance_of_the_closed_form(source, trials, power_of_two):
    """ŝ = (c/R)·Σ_j m_j K_j: E = q·K, Var = (c²/R)·Σ_j K_j²·x_j(1 − x_j) with x_j = |q_j|/c."""
    if source == "real":
        query, keys = real_head()
    else:
        q, k, _ = random_inputs(2, n=20, d=12)
        query, keys = q[0, 0], decode_stored(k[0, :, 0]).astype(np.float64)
    c = bernoulli_qk.digit_scale(query, trials, power_of_two)
    scores = digits_of(query, trials, c) @ keys.T * (c / trials)
    x = np.abs(query.astype(np.float64)) / c
    variance = c**2 / trials * (keys**2 @ (x * (1 - x)))
    bound = z_bound(8 * 2 * len(keys))
    z = (scores.mean(axis=0) - keys @ query.astype(np.float64)) / np.sqrt(variance / COUNT)
    assert np.abs(z).max() < bound
    centred = scores - scores.mean(axis=0)
    seen = (centred**2).sum(axis=0) / (COUNT - 1)
    error = np.sqrt(((centred**4).mean(axis=0) - seen**2) / COUNT)
    assert (np.abs(seen - variance) / error).max() < bound


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=8), st.integers(1, 40))
def test_digit_scale_is_the_top_or_the_next_power_of_two_times_r(query, trials):
    query = np.array(query, np.float32)
    top = float(np.abs(query).max())
    assert bernoulli_qk.digit_scale(query, trials, False) == top
    c = bernoulli_qk.digit_scale(query, trials, True)
    if top == 0:
        assert c == 0
        return
    assert math.frexp(c / trials)[0] == 0.5
    # c may lie one rounding below the top where top/R itself was rounded
    assert top * (1 - 1e-15) <= c < 2 * top * (1 + 1e-15)
