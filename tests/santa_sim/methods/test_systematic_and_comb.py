"""`s2anta_comb` draws the rows of `santa_systematic`, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_cases import capture_step, run, sampled

from santa_sim.methods import s2anta_comb, santa_systematic
from santa_sim.rng import DRAWS, stream_key, uniform


def drawn(mass, samples, tile, seed):
    """(systematic counts, comb counts, comb tile budgets) of one head."""
    key = stream_key(seed, 0, 0, 0)
    whole, tiled = np.zeros((2, len(mass)), np.int32)
    budgets = np.zeros(-(-len(mass) // tile), np.int32)
    santa_systematic.draw(mass, key, 0, samples, whole)
    s2anta_comb.draw(mass, key, 0, samples, tile, tiled, budgets)
    return whole, tiled, budgets


@pytest.mark.parametrize("trace", ["t0", "t1", "t3", "t5", "t8"])
@pytest.mark.parametrize("offsets", ["own", "shared"])
@pytest.mark.parametrize(("samples", "tile"), [(64, 64), (1000, 48), (3, 256), (256, 1)])
def test_same_rows_on_real_attention(trace, offsets, samples, tile):
    step = capture_step(trace)
    comb = run(sampled("s2anta_comb", samples, tile, offsets=offsets), step, seed=4)
    systematic = run(sampled("santa_systematic", samples, offsets=offsets), step, seed=4)
    for name in ("indptr", "rows", "counts"):
        np.testing.assert_array_equal(getattr(comb.rows, name), getattr(systematic.rows, name))
    np.testing.assert_allclose(comb.out, systematic.out, rtol=0, atol=0)


@given(
    st.lists(
        st.sampled_from([0.0, 1e-45, 1e-30, 1e-17, 1e-8, 0.1, 1 / 3, 0.5, 1.0]), min_size=1,
        max_size=60,
    ).filter(any),
    st.integers(1, 70), st.integers(1, 9), st.integers(0, 1000),
)  # fmt: skip
def test_same_rows_for_masses_of_any_size(mass, samples, tile, seed):
    mass = np.array(mass, np.float32)
    whole, tiled, budgets = drawn(mass, samples, tile, seed)
    np.testing.assert_array_equal(whole, tiled)
    assert whole.sum() == samples
    assert not whole[mass == 0].any()
    starts = np.arange(0, len(mass), tile)
    np.testing.assert_array_equal(np.add.reduceat(tiled, starts), budgets)


def test_same_rows_where_a_tooth_meets_an_edge_that_tile_sums_would_move():
    # masses 1 − a, many of 1e-17 (lost one by one next to 1 − a, not when a tile adds them up
    # first), then a: with S = 1 the tooth falls on the edge of the first row
    for seed in range(20):
        offset = uniform(stream_key(seed, 0, 0, 0), DRAWS, 0, 0, 0)
        mass = np.full(66, 1e-17, np.float32)
        mass[0], mass[-1] = 1 - offset, offset
        whole, tiled, _ = drawn(mass, 1, 16, seed)
        np.testing.assert_array_equal(whole, tiled)


@given(st.integers(1, 40), st.integers(1, 200), st.integers(0, 1000))
def test_each_row_gets_its_share_rounded_down_or_up(n, samples, seed):
    rng = np.random.default_rng(seed)
    mass = rng.exponential(size=n).astype(np.float32) + np.float32(1e-3)
    counts, _, _ = drawn(mass, samples, 8, seed)
    share = samples * mass.astype(np.float64) / mass.sum(dtype=np.float64)
    # counts_i is ⌊S·p_i⌋ or ⌈S·p_i⌉, up to rounding of a share that is whole
    assert (counts >= np.floor(share - 1e-9)).all()
    assert (counts <= np.ceil(share + 1e-9)).all()
