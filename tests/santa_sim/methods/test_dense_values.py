"""Dense decode against a float64 softmax, within a derived bound."""

import ml_dtypes
import numpy as np
import pytest
from method_cases import (
    UNIT_ROUNDOFF,
    capture_step,
    exact_attention,
    random_inputs,
    run,
    softmax_of,
)

from hw_models.ledger import Dtype
from santa_sim.methods import decode, method
from santa_sim.storage import as_stored, decode_stored, encode

FORMATS = ["fp32", "fp16", "bf16", "bfloat16"]


def stored_as(array, name):
    if name == "bfloat16":
        return encode(array, Dtype.BF16).view(ml_dtypes.bfloat16)
    return encode(array, Dtype(name))


def rounding_bound(q, k, v, sm_scale, seq_lens):
    """Bound of |decode − float64| [B, H, d].

    A score is a float32 sum of d products of q·sm_scale, rounded once for q·sm_scale, once for
    sm_scale, and once in s − m: |Δs_i| ≤ (d + 3)·u·Σ_j |q_j k_ij|·scale + u·|s_i − m|. Weights are
    rounded once. To first order Δout = Σ p_i ε_i (v_i − out), and the result is rounded once.
    """
    batch, heads, d = q.shape
    group = heads // k.shape[2]
    k, v = as_stored(k), as_stored(v)
    bound = np.zeros(q.shape)
    for b in range(batch):
        for h in range(heads):
            stored = k[b, : seq_lens[b], h // group]
            keys = decode_stored(stored).astype(np.float64)
            values = decode_stored(v[b, : seq_lens[b], h // group]).astype(np.float64)
            query = q[b, h].astype(np.float64) * sm_scale
            p = softmax_of(q[b, h], stored, sm_scale)
            scores = keys @ query
            error = UNIT_ROUNDOFF * (
                (d + 3) * (np.abs(keys) @ np.abs(query)) + scores.max() - scores + 1
            )
            out = p @ values
            # one percent for the terms of second order
            bound[b, h] = 1.01 * (p * error) @ np.abs(values - out) + UNIT_ROUNDOFF * np.abs(out)
    return bound


def assert_dense(q, k, v, sm_scale, seq_lens):
    got = decode(method("dense"), q, k, v, seq_lens=seq_lens, sm_scale=sm_scale)
    exact = exact_attention(q, as_stored(k), as_stored(v), sm_scale, seq_lens)
    over = np.abs(got.out - exact) - rounding_bound(q, k, v, sm_scale, seq_lens)
    assert over.max() <= 0
    return got


@pytest.mark.parametrize("trace", ["t0", "t1", "t3", "t5", "t8"])
def test_real_attention_is_the_softmax_of_the_scores(trace):
    step = capture_step(trace)
    got = assert_dense(step.q, step.k, step.v, step.sm_scale, step.seq_lens)
    assert got.rows is None
    assert (got.unique_rows == step.seq_lens[0]).all()
    assert (got.effective_samples == step.seq_lens[0]).all()


@pytest.mark.parametrize("name", FORMATS)
def test_real_attention_in_every_storage_format(name):
    step = capture_step("t3")
    k, v = (stored_as(decode_stored(array), name) for array in (step.k, step.v))
    assert_dense(step.q, k, v, step.sm_scale, step.seq_lens)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("heads", "kv_heads"), [(3, 3), (8, 2), (7, 1)])
def test_ragged_batches_of_any_grouping(name, heads, kv_heads):
    rng = np.random.default_rng(5)
    q = rng.normal(size=(3, heads, 12)).astype(np.float32)
    k, v = (stored_as(3 * rng.normal(size=(3, 90, kv_heads, 12)), name) for _ in range(2))
    assert_dense(q, k, v, 0.37, np.array([90, 1, 41]))


def test_the_two_spellings_of_bf16_are_one_format():
    q, k, v = random_inputs(1, dtype=Dtype.BF16)
    words = decode(method("dense"), q, k, v)
    numbers = decode(method("dense"), q, k.view(ml_dtypes.bfloat16), v.view(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(words.out, numbers.out)
    assert words.ledger == numbers.ledger


def test_the_default_scale_is_one_over_root_d():
    q, k, v = random_inputs(2, d=16)
    np.testing.assert_array_equal(
        decode(method("dense"), q, k, v).out, decode(method("dense"), q, k, v, sm_scale=0.25).out
    )


def test_strided_caches_give_the_same_numbers():
    q, k, v = random_inputs(3, batch=2, n=40)
    hnd = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for a in (k, v)]
    wide = [np.concatenate([a, a], axis=3)[..., : a.shape[3]] for a in (k, v)]
    expected = decode(method("dense"), q, k, v).out
    for other in (hnd, wide):
        np.testing.assert_array_equal(decode(method("dense"), q, *other).out, expected)


def test_tiles_are_bookkeeping_only():
    step = capture_step("t3")
    outputs = [run(method("dense", tile=tile), step).out for tile in (16, 64, 4096)]
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])
