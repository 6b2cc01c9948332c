"""Weighted and gathered rows against plain NumPy, and lists of drawn rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_cases import DTYPES, product_sum_bound, stored

from hw_models.ledger import Dtype
from santa_sim.kernels.drawn import drawn_rows
from santa_sim.kernels.gather import gather_rows
from santa_sim.kernels.values import weighted_rows
from santa_sim.storage import STORED, encode

DOUBLE_ROUNDOFF = 2.0**-53


def weighted(weights, v):
    out = np.full((len(weights), v.shape[-1]), np.nan)
    weighted_rows(weights, v, out)
    return out


def row_by_row(weights, v):
    """Σ_i w_i·v_i in float64 and in row order; each product of float32 numbers is exact there."""
    group = len(weights) // v.shape[1]
    out = np.zeros((len(weights), v.shape[2]))
    for i in range(len(v)):
        out += weights[:, i, None].astype(np.float64) * np.repeat(v[i], group, axis=0)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "kv_heads", "group", "d"),
    [
        (1, 1, 1, 1), (2, 2, 3, 15), (3, 1, 4, 16), (5, 3, 5, 17), (127, 1, 71, 33),
        (128, 2, 4, 128), (130, 1, 2, 80), (259, 8, 4, 64), (0, 2, 2, 24),
    ],
)  # fmt: skip
def test_weighted_rows_are_summed_in_row_order_to_the_last_bit(n, kv_heads, group, d, dtype):
    rng = np.random.default_rng(n)
    weights = rng.random((kv_heads * group, n), np.float32)
    v, exact = stored(rng, (n, kv_heads, d), dtype)
    np.testing.assert_array_equal(weighted(weights, v), row_by_row(weights, exact))


@pytest.mark.parametrize("dtype", DTYPES)
def test_weighted_rows_of_a_strided_read_only_cache(dtype):
    rng = np.random.default_rng(1)
    weights = rng.random((6, 50), np.float32)
    v, exact = stored(rng, (50, 4, 40), dtype)
    v.setflags(write=False)
    np.testing.assert_array_equal(
        weighted(weights, v[:, ::2]), row_by_row(weights, exact[:, ::2])
    )
    np.testing.assert_array_equal(
        weighted(weights[:, ::2].copy(), v[::2, :2]), row_by_row(weights[:, ::2], exact[::2, :2])
    )


def test_an_infinite_value_reaches_every_head_of_its_group_only():
    v = np.zeros((40, 2, 20), np.float32)
    v[33, 1, 19] = np.inf
    out = weighted(np.zeros((6, 40), np.float32), v)
    assert np.isnan(out[3:, 19]).all()  # 0·∞
    out[3:, 19] = 0
    assert (out == 0).all()


counts_lists = st.integers(1, 90).flatmap(
    lambda n: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 0, 1, 2, 300]), min_size=n, max_size=n), min_size=1,
        max_size=5,
    )
)


@given(counts_lists)
def test_drawn_rows_are_those_with_a_count(counts):
    counts = np.array(counts, np.int32)
    drawn = drawn_rows(counts, int(counts.sum(axis=1).max()))
    assert drawn.union == np.count_nonzero(counts.any(axis=0))
    for g, row in enumerate(counts):
        part = slice(drawn.indptr[g], drawn.indptr[g + 1])
        np.testing.assert_array_equal(drawn.rows[part], np.flatnonzero(row))
        np.testing.assert_array_equal(drawn.counts[part], row[row > 0])
    assert len(drawn.rows) == len(drawn.counts) == np.count_nonzero(counts)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tile", [1, 7, 16, 64, 200])
@pytest.mark.parametrize("d", [1, 17, 64])
def test_gathered_rows_are_weighted_tile_by_tile(d, tile, dtype):
    rng = np.random.default_rng(d)
    counts = np.where(rng.random((5, 150)) < 0.2, rng.integers(1, 9, (5, 150)), 0).astype(np.int32)
    counts[3] = 0
    counts[4, [0, 149]] = 2**20
    weights = rng.random((5, -(-150 // tile)))
    v, exact = stored(rng, (150, 2, d), dtype)
    out = np.full((5, d), np.nan)
    gather_rows(drawn_rows(counts, 150 * 2**20), tile, weights, v[:, 1], out)
    each = np.repeat(weights, tile, axis=1)[:, :150] * counts
    # products, their sum within a tile, the weight and the sum over tiles: at most 152 roundings
    bound = product_sum_bound(np.abs(each) @ np.abs(exact[:, 1]), 152, DOUBLE_ROUNDOFF)
    assert (np.abs(out - each @ exact[:, 1]) <= bound).all()
    assert (out[3] == 0).all()


def test_gathering_nothing_gives_zeros():
    out = np.full((2, 6), np.nan)
    drawn = drawn_rows(np.zeros((2, 30), np.int32), 4)
    gather_rows(drawn, 30, np.ones((2, 1)), np.ones((30, 6), np.float32), out)
    assert (out == 0).all()
    assert drawn.union == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_only_drawn_rows_are_read(dtype):
    rng = np.random.default_rng(3)
    v = encode(rng.standard_normal((60, 1, 40)), dtype)
    counts = np.zeros((1, 60), np.int32)
    counts[0, [5, 59]] = 1
    rest = np.setdiff1d(np.arange(60), [5, 59])
    v[rest] = encode(np.array(np.nan), dtype)
    out = np.empty((1, 40))
    gather_rows(drawn_rows(counts, 2), 60, np.ones((1, 1)), v[:, 0], out)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("d", [16, 17])
@pytest.mark.parametrize(("dtype", "smallest"), [(Dtype.FP16, 2.0**-24), (Dtype.BF16, 2.0**-133)])
def test_sixteen_bit_subnormals_are_summed_exactly(dtype, smallest, d):
    v = np.full((64, 1, d), 1, np.uint16).view(STORED[dtype])
    out = weighted(np.ones((1, 64), np.float32), v)
    np.testing.assert_array_equal(out, np.full((1, d), 64 * smallest))
