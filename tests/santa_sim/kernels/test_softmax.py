"""Maxima and exponentials: exact order, exact rounding up to a stated error."""

import numpy as np
import pytest
from kernel_cases import bits

from santa_sim.kernels.softmax import exp_shifted, tile_max

ULP_BOUND = 0.5 + 2.0**-16
"""What `exp_nearest` promises."""


def exp_of(x):
    out = x.reshape(1, -1).copy()
    exp_shifted(out, max(1, x.size), np.zeros((1, 1), np.float32))
    return out[0]


def ulp_error(got, exact):
    """Distance from the true value in units of the last place of a float32 near it."""
    _, exponent = np.frexp(exact)
    unit = np.exp2(np.maximum(exponent - 24, -149).astype(np.float64))
    return np.abs(got.astype(np.float64) - exact) / unit


@pytest.mark.parametrize("part", range(4))
def test_exp_is_within_its_bound_over_the_whole_float32_range(part):
    # every 997th bit pattern: 4.3 million numbers of either sign, every exponent, NaNs; np.exp in
    # float64 is off by less than 2^-52 of its value, which is 2^-28 ulp of float32
    x = np.arange(part * 2**30, (part + 1) * 2**30, 997, dtype=np.uint32).view(np.float32)
    got = exp_of(x)
    with np.errstate(all="ignore"):  # overflow, underflow and signalling NaNs are part of it
        exact = np.exp(x.astype(np.float64))
        nearest = exact.astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(nearest))
    finite = np.isfinite(nearest)
    assert ulp_error(got[finite], exact[finite]).max() <= ULP_BOUND


def test_exp_is_within_its_bound_where_softmax_uses_it():
    x = -np.logspace(-6, np.log10(105), 1_000_000).astype(np.float32)
    assert ulp_error(exp_of(x), np.exp(x.astype(np.float64))).max() <= ULP_BOUND


@pytest.mark.parametrize(
    ("x", "value"),
    [
        (0.0, 1.0), (-0.0, 1.0), (1e-45, 1.0), (-np.inf, 0.0), (np.inf, np.inf), (-3.4e38, 0.0),
        (3.4e38, np.inf), (-103.97208, 1e-45), (-104.0, 0.0), (88.72284, np.inf),
    ],
)  # fmt: skip
def test_exp_at_the_edges(x, value):
    got = exp_of(np.array([x], np.float32))[0]
    np.testing.assert_equal(bits(got), bits(np.float32(value)))


def test_the_largest_exponential_that_is_not_infinite():
    top = np.float32(88.72283)
    got = exp_of(np.array([top], np.float32))
    assert np.isfinite(got[0])
    assert ulp_error(got, np.exp(np.array([top], np.float64)))[0] <= ULP_BOUND


@pytest.mark.parametrize("tile", [1, 3, 16, 64, 100, 1000])
def test_each_tile_is_shifted_by_its_own_number(tile):
    rng = np.random.default_rng(tile)
    scores = (10 * rng.standard_normal((3, 100))).astype(np.float32)
    shift = rng.standard_normal((3, -(-100 // tile))).astype(np.float32)
    got = scores.copy()
    exp_shifted(got, tile, shift)
    each = np.repeat(shift, tile, axis=1)[:, :100]
    for row, moved in zip(got, scores - each, strict=True):
        np.testing.assert_array_equal(row, exp_of(moved))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 64, 129, 1000])
@pytest.mark.parametrize("tile", [1, 7, 64, 2000])
def test_maxima_of_tiles(n, tile):
    rng = np.random.default_rng(n)
    scores = rng.standard_normal((4, n)).astype(np.float32)
    scores[1] *= -1e-42  # subnormal
    scores[2] = -np.abs(scores[2])
    tiles = -(-n // tile)
    out = np.empty((4, tiles), np.float32)
    assert tile_max(scores, tile, out)
    expected = [[row[t * tile : (t + 1) * tile].max() for t in range(tiles)] for row in scores]
    np.testing.assert_array_equal(out, np.array(expected, np.float32).reshape(4, tiles))


def test_without_scores_the_maximum_is_minus_infinity():
    out = np.zeros((2, 1), np.float32)
    assert tile_max(np.empty((2, 0), np.float32), 8, out)
    assert (out == -np.inf).all()


@pytest.mark.parametrize("pattern", [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001])
@pytest.mark.parametrize("where", [0, 18, 36])
def test_one_score_that_is_not_finite_is_reported(pattern, where):
    scores = np.zeros((2, 37), np.float32)
    out = np.empty((2, 5), np.float32)
    assert tile_max(scores, 8, out)
    scores.view(np.uint32)[1, where] = pattern
    assert not tile_max(scores, 8, out)


def test_infinities_are_ordered_too():
    scores = np.array([[-np.inf, -np.inf, 3.0, np.inf]], np.float32)
    out = np.empty((1, 2), np.float32)
    tile_max(scores, 2, out)
    np.testing.assert_array_equal(out, [[-np.inf, np.inf]])
