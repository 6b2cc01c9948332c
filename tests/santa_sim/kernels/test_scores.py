"""Scores against float64, and bit for bit against themselves in other surroundings."""

import numpy as np
import pytest
from kernel_cases import DTYPES, bits, product_sum_bound, stored

from hw_models.ledger import Dtype
from santa_sim.kernels import scores as module
from santa_sim.kernels.scores import group_scores, head_scores
from santa_sim.kernels.ternary import ternary_scores
from santa_sim.storage import STORED, decode_stored, encode


def scores_of(q, k):
    out = np.full((len(q), len(k)), np.nan, np.float32)
    head_scores(q, k, out)
    return out


def queries(rng, heads, d):
    return rng.standard_normal((heads, d)).astype(np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("n", "kv_heads", "group", "d"),
    [
        (1, 1, 1, 1), (2, 1, 2, 3), (3, 2, 1, 15), (4, 1, 4, 16), (5, 3, 5, 17), (7, 2, 7, 80),
        (127, 1, 3, 33), (128, 2, 4, 128), (129, 1, 71, 64), (130, 8, 4, 96), (257, 1, 8, 192),
        (31, 2, 6, 256), (6, 1, 16, 31),
    ],
)  # fmt: skip
def test_scores_are_the_inner_products(n, kv_heads, group, d, dtype):
    rng = np.random.default_rng(n)
    q = queries(rng, kv_heads * group, d)
    k, exact = stored(rng, (n, kv_heads, d), dtype)
    grouped = q.astype(np.float64).reshape(kv_heads, group, d)
    expected = np.einsum("hgd,nhd->hgn", grouped, exact).reshape(len(q), n)
    sizes = np.einsum("hgd,nhd->hgn", abs(grouped), abs(exact)).reshape(len(q), n)
    error = np.abs(scores_of(q, k) - expected)
    assert (error <= product_sum_bound(sizes, d)).all()
    # and the bound is one that a wrong term would break
    assert product_sum_bound(sizes, d).max() < 0.01 * sizes.max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [128, 37])
def test_a_score_does_not_depend_on_where_its_key_and_head_stand(d, dtype):
    rng = np.random.default_rng(2)
    q = queries(rng, 14, d)
    k, _ = stored(rng, (261, 2, d), dtype)
    whole = scores_of(q, k)
    for n in (1, 2, 3, 5, 66, 128, 131, 260):
        np.testing.assert_array_equal(scores_of(q, k[:n]), whole[:, :n])
        np.testing.assert_array_equal(scores_of(q, k[-n:]), whole[:, -n:])
    for head in range(14):
        alone = scores_of(q[head : head + 1], k[:, head // 7 : head // 7 + 1])
        np.testing.assert_array_equal(alone[0], whole[head])
    group = np.empty((7, 261), np.float32)
    group_scores(q[7:], k[:, 1], group)
    np.testing.assert_array_equal(group, whole[7:])


def elsewhere(k):
    """The same numbers with other strides, alignment, direction and permission."""
    padded = np.zeros((len(k), 5, 3, k.shape[2] + 7), k.dtype)[:, 2, ::2, 3:-4]
    padded[:] = k
    odd = np.zeros(k.nbytes + 1, np.uint8)[1:].view(k.dtype).reshape(k.shape)
    odd[:] = k
    frozen = k.copy()
    frozen.setflags(write=False)
    return {
        "strided": padded, "odd address": odd, "read-only": frozen,
        "backwards": np.ascontiguousarray(k[::-1])[::-1],
        "head first": np.ascontiguousarray(k.transpose(1, 0, 2)).transpose(1, 0, 2),
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_strides_alignment_and_permission_change_no_bit(dtype):
    rng = np.random.default_rng(3)
    q = queries(rng, 6, 40)
    k, _ = stored(rng, (77, 2, 40), dtype)
    whole = scores_of(q, k)
    compiled = len(module._scores.signatures)
    for name, other in elsewhere(k).items():
        np.testing.assert_array_equal(scores_of(q, other), whole, err_msg=name)
    # each compiled form costs a second or so of a cold start
    assert len(module._scores.signatures) == compiled


def test_the_caller_s_query_may_have_any_layout():
    rng = np.random.default_rng(4)
    q, (k, _) = queries(rng, 4, 24), stored(rng, (9, 1, 24), Dtype.BF16)
    frozen = np.asfortranarray(q)
    frozen.setflags(write=False)
    np.testing.assert_array_equal(scores_of(frozen, k), scores_of(q, k))


@pytest.mark.parametrize("repeat", [1, 7])
def test_the_same_row_everywhere_gives_one_score(repeat):
    rng = np.random.default_rng(5)
    q, (row, _) = queries(rng, 5, 48), stored(rng, (1, 1, 48), Dtype.FP16)
    k = np.broadcast_to(row, (64 * repeat + 3, 1, 48))
    out = scores_of(q, k)
    np.testing.assert_array_equal(out, np.broadcast_to(out[:, :1], out.shape))


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16])
@pytest.mark.parametrize("d", [1, 16], ids=["scalar path", "vector path"])
def test_every_sixteen_bit_number_is_read_exactly(d, dtype):
    patterns = np.arange(2**16, dtype=np.uint16)
    k = np.zeros((2**16, 1, d), np.uint16)
    k[:, 0, 0] = patterns
    q = np.zeros((1, d), np.float32)
    q[0, 0] = 1
    got = scores_of(q, k.view(STORED[dtype]))[0]
    exact = decode_stored(patterns.view(STORED[dtype]))
    nan = np.isnan(exact)
    assert np.isnan(got[nan]).all()
    # subnormals and infinities included; −0 + 0 is +0
    np.testing.assert_array_equal(got[~nan], exact[~nan])


@pytest.mark.parametrize("d", [1, 16], ids=["scalar path", "vector path"])
def test_single_precision_extremes_are_read_exactly(d):
    values = np.array(
        [1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38, np.inf, -np.inf, 0.0],
        np.float32,
    )
    k = np.zeros((len(values), 1, d), np.float32)
    k[:, 0, 0] = values
    q = np.zeros((1, d), np.float32)
    q[0, 0] = 1
    np.testing.assert_array_equal(scores_of(q, k)[0], values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_infinite_or_missing_number_spoils_its_own_row_only(dtype):
    rng = np.random.default_rng(6)
    q = queries(rng, 4, 32)
    k, _ = stored(rng, (21, 1, 32), dtype)
    clean = scores_of(q, k)
    for column in (0, 31):
        k[7, 0, column] = encode(np.array(np.inf), dtype)
        k[20, 0, column] = encode(np.array(np.nan), dtype)
    dirty = scores_of(q, k)
    assert not np.isfinite(dirty[:, [7, 20]]).any()
    others = np.setdiff1d(np.arange(21), [7, 20])
    np.testing.assert_array_equal(dirty[:, others], clean[:, others])


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_keys_and_no_columns(dtype):
    none = scores_of(np.ones((2, 8), np.float32), np.zeros((0, 1, 8), STORED[dtype]))
    assert none.shape == (2, 0)
    zero = scores_of(np.ones((2, 0), np.float32), np.zeros((3, 1, 0), STORED[dtype]))
    np.testing.assert_array_equal(zero, np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_ternary_scores_of_eighths_are_exact(dtype):
    # sums of at most 40 products of whole numbers and eighths below 64 need 15 bits
    rng = np.random.default_rng(7)
    multiplicity = rng.integers(-8, 9, (6, 40)).astype(np.int32)
    eighths = rng.integers(-32, 33, (19, 2, 40)) / 8
    out = np.empty((6, 19), np.float32)
    ternary_scores(multiplicity, encode(eighths, dtype), out)
    grouped = multiplicity.reshape(2, 3, 40)
    np.testing.assert_array_equal(out, np.einsum("hgd,nhd->hgn", grouped, eighths).reshape(6, 19))


def test_two_runs_give_the_same_bits():
    rng = np.random.default_rng(8)
    q, (k, _) = queries(rng, 12, 100), stored(rng, (500, 3, 100), Dtype.BF16)
    np.testing.assert_array_equal(bits(scores_of(q, k)), bits(scores_of(q, k)))
