"""Variances of the global methods against exact closed forms, and their order."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from method_cases import (
    capture_step,
    exact_attention,
    random_inputs,
    run,
    sampled,
    softmax_of,
    streams,
    z_bound,
)

from santa_sim.storage import decode_stored

SAMPLES, COUNT = 6, 4000
INPUTS = random_inputs(21, heads=2, kv_heads=1, n=11, d=4)
P = np.array([softmax_of(INPUTS[0][0, h], INPUTS[1][0, :, 0], 0.5) for h in range(2)])
V = decode_stored(INPUTS[2][0, :, 0]).astype(np.float64)


def iid_variance(p):
    """Var_p(v) / S."""
    return (p @ V**2 - (p @ V) ** 2) / SAMPLES


def stratified_variance(p):
    """Σ_s Var(v | stratum s) / S²; row i fills S·|[C_{i−1}, C_i] ∩ stratum| of a stratum."""
    edges = np.concatenate([[0.0], np.cumsum(p)])
    total = np.zeros(V.shape[1])
    for s in range(SAMPLES):
        low, high = s / SAMPLES, (s + 1) / SAMPLES
        inside = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)
        weight = SAMPLES * inside
        total += weight @ V**2 - (weight @ V) ** 2
    return total / SAMPLES**2


def systematic_variance(p):
    """∫ (out(a) − mean)² da over the offset, exact: out changes only where a + S·C is whole."""
    levels = SAMPLES * np.concatenate([[0.0], np.cumsum(p)])
    breaks = np.unique(np.concatenate([[0.0, 1.0], 1 - levels % 1.0]))
    total = np.zeros(V.shape[1])
    for low, high in pairwise(breaks):
        counts = np.diff(np.floor((low + high) / 2 + levels + 1e-12))
        total += (high - low) * (counts @ V / SAMPLES - p @ V) ** 2
    return total


CLOSED = {
    "santa_iid": iid_variance,
    "santa_stratified": stratified_variance,
    "santa_systematic": systematic_variance,
    "s2anta_comb": systematic_variance,
}


@cache
def spread(name):
    """Sample variance of each coordinate [H·d] and its standard error from the fourth moment."""
    values = streams(sampled(name, SAMPLES, tile=4), *INPUTS, count=COUNT, seed=70)
    centred = (values - values.mean(axis=0)).reshape(COUNT, -1)
    variance = (centred**2).sum(axis=0) / (COUNT - 1)
    return variance, np.sqrt(((centred**4).mean(axis=0) - variance**2) / COUNT)


@pytest.mark.parametrize("name", CLOSED)
def test_variance_is_the_closed_form(name):
    # Bonferroni over 4 methods and 8 coordinates: chance of failure <= 1e-3
    variance, error = spread(name)
    expected = np.concatenate([CLOSED[name](p) for p in P])
    assert (np.abs(variance - expected) / error).max() < z_bound(len(CLOSED) * expected.size)


def test_stratified_varies_less_than_iid():
    assert all((stratified_variance(p) < iid_variance(p)).all() for p in P)
    (iid, iid_error), (stratified, error) = spread("santa_iid"), spread("santa_stratified")
    margin = z_bound(iid.size) * np.hypot(iid_error, error)
    assert (stratified < iid - margin).all()


@pytest.mark.parametrize("trace", ["t0", "t3"])
def test_stratified_errs_less_than_iid_on_real_attention(trace):
    # total squared error over heads, 60 seeds; the difference of two means of 60, one-sided
    step = capture_step(trace)
    exact = exact_attention(step.q, step.k, step.v, step.sm_scale)
    squares = {
        name: [((run(sampled(name, 64), step, seed=s).out - exact) ** 2).sum() for s in range(60)]
        for name in ("santa_iid", "santa_stratified")
    }
    iid, stratified = (np.array(squares[name]) for name in squares)
    error = np.sqrt((iid.var(ddof=1) + stratified.var(ddof=1)) / 60)
    assert stratified.mean() < iid.mean() - z_bound(2) * error
