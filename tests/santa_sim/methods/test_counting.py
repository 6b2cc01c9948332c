"""Counts by hand on tiny cases, from the documented conventions of `counting`."""

from collections import Counter

import numpy as np
import pytest
from method_cases import capture_step, run, sampled

from hw_models.ledger import Dtype, OpKey, OpKind, Phase, Tensor
from santa_sim.data.geometry import load_geometry
from santa_sim.methods import decode, expect, method

N, D, G, TILE = 10, 4, 2, 4  # one KV head, three tiles, the last of two keys


def ramp(dtype=np.float16):
    """Scores i/16 for key i: equal heads, every tile raises the maximum."""
    q = np.zeros((1, G, D), np.float32)
    q[..., 0] = 1
    k = np.zeros((1, N, 1, D), dtype)
    k[0, :, 0, 0] = np.arange(N) / 16
    return q, k, k


def ops(ledger):
    """(phase, kind) -> count, multiplicities and formats summed."""
    found = Counter()
    for key, count in ledger.ops.items():
        found[str(key.phase), str(key.kind)] += count
    return dict(found)


def streams(ledger):
    """(phase, tensor, direction, segment bytes) -> (logical, unique) segments."""
    return {
        (str(k.phase), str(k.tensor), str(k.direction), k.segment_bytes): (s.logical, s.unique)
        for k, s in ledger.streams.items()
    }


SCORES_AND_SOFTMAX = {
    ("score", "multiply"): G * N * D, ("score", "add"): G * N * D,
    ("softmax", "compare"): G * N, ("softmax", "exp"): G * N, ("merge", "convert"): G * D,
}  # fmt: skip
INPUTS_AND_OUTPUTS = {
    ("score", "q", "read", 8): (G, G), ("merge", "out", "write", 8): (G, G),
    ("score", "k", "read", N * D * 2): (1, 1),
}  # fmt: skip


def test_dense_by_hand():
    # maxima 3/16, 7/16, 9/16: ⌈m·log2 e⌉ is 1 in every tile, so no tile rescales
    ledger = decode(method("dense", tile=TILE), *ramp()).ledger
    assert ops(ledger) == SCORES_AND_SOFTMAX | {
        ("softmax", "add"): G * N + G * N,  # s − m, and Z
        ("value", "multiply"): G * N * D, ("value", "add"): G * N * D,
        ("merge", "divide"): G, ("merge", "multiply"): G * D,
    }  # fmt: skip
    assert streams(ledger) == INPUTS_AND_OUTPUTS | {("value", "v", "read", N * D * 2): (1, 1)}
    assert ledger.ops[OpKey(Phase.SCORE, OpKind.MULTIPLY, Dtype.FP16)] == G * N * D
    assert ledger.ops[OpKey(Phase.SCORE, OpKind.ADD, Dtype.FP32)] == G * N * D


def test_a_tile_that_raises_the_maximum_rescales_the_accumulator_and_z():
    # maxima 3, 7 and 9 times 1: powers 5, 11, 13; two rises per head, d + 1 shifts each
    ledger = decode(method("dense", tile=TILE), *ramp(), sm_scale=16.0).ledger
    assert ledger.count(OpKind.SHIFT) == G * 2 * (D + 1)


def test_float32_outputs_need_no_conversion():
    assert decode(method("dense"), *ramp(np.float32)).ledger.count(OpKind.CONVERT) == 0


SAMPLE_STEP = {
    # per method: operations of the sampling phase besides the walk, with S = 8 and own offsets
    "santa_iid": {"random_bits": 24 * 16, "random_product": 16, "add": 20, "compare": 16 * 4},
    "santa_stratified": {
        "random_bits": 24 * 16, "random_product": 16, "shift": 2, "add": 20 + 16,
        "compare": 20 + 16,
    },
    "santa_systematic": {
        "random_bits": 24 * 2, "random_product": 2, "shift": 2, "add": 20 + 16, "compare": 20 + 16
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLE_STEP)
def test_global_methods_by_hand(name):
    got = decode(sampled(name, 8), *ramp())
    ledger, distinct = got.ledger, len(got.rows.rows)
    sampling = {("sample", kind): count for kind, count in SAMPLE_STEP[name].items()}
    assert ops(ledger) == SCORES_AND_SOFTMAX | sampling | {
        ("softmax", "add"): G * N,
        ("value", "accumulate"): distinct * D, ("value", "address"): distinct,
        ("merge", "shift"): G * D,  # 1/8
    }  # fmt: skip
    stash = G * N * 4
    assert streams(ledger) == INPUTS_AND_OUTPUTS | {
        ("softmax", "stash", "write", stash): (1, 1), ("sample", "stash", "read", stash): (1, 1),
        ("sample", "index", "write", 4): (distinct, distinct),
        ("value", "index", "read", 4): (distinct, distinct),
        ("value", "v", "read", D * 2): (16, int(got.unique_rows[0, 0])),
    }  # fmt: skip
    footprints = {k.tensor: k.footprint_bytes for k in ledger.streams if k.footprint_bytes}
    assert footprints == {Tensor.STASH: stash, Tensor.INDEX: 16 * 4}


def test_comb_by_hand():
    # S = 8 over ten nearly equal keys: every tile of every head wins, the tail of two keys too
    got = decode(sampled("s2anta_comb", 8, TILE), *ramp())
    ledger, distinct, pairs = got.ledger, len(got.rows.rows), G * 3
    assert ops(ledger) == SCORES_AND_SOFTMAX | {
        ("softmax", "add"): 2 * G * N,  # s − m, and the tile sums
        ("sample", "shift"): pairs + G,  # one scale for all tiles, and Z/8
        ("sample", "add"): pairs + G * N + 16, ("sample", "compare"): pairs + G * N + 16,
        ("sample", "random_bits"): 24 * G, ("sample", "random_product"): G,
        ("value", "accumulate"): distinct * D, ("value", "address"): distinct,
        ("merge", "shift"): G * D,
    }  # fmt: skip
    found = streams(ledger)
    assert found["sample", "stash", "read", TILE * 4] == (4, 4)
    assert found["sample", "stash", "read", 2 * 4] == (2, 2)
    assert found["softmax", "tile_mass", "write", pairs * 8] == (1, 1)
    assert found["sample", "tile_mass", "read", pairs * 8] == (1, 1)


def test_prop_by_hand():
    got = decode(sampled("s2anta_prop", 8, TILE), *ramp())
    ledger, pairs = got.ledger, G * 3
    found = {kind: n for (phase, kind), n in ops(ledger).items() if phase == "sample"}
    assert found == {
        "shift": pairs, "add": pairs + G * N + 16, "divide": G + pairs, "multiply": pairs,
        "convert": pairs, "compare": pairs * 2 + G * N + 16,  # three tiles: two levels of a sort
        "random_bits": 24 * pairs, "random_product": pairs,
    }  # fmt: skip


def test_flash_by_hand():
    # S = 8 over three tiles: two draws each, six per head
    got = decode(sampled("s2anta_flash", 8, TILE), *ramp())
    ledger, distinct, pairs = got.ledger, len(got.rows.rows), G * 3
    assert (got.effective_samples == 6).all()
    assert ops(ledger) == SCORES_AND_SOFTMAX | {
        ("softmax", "add"): G * N,
        ("sample", "shift"): pairs,  # ℓ_t/2
        ("sample", "random_bits"): 24 * pairs, ("sample", "random_product"): pairs,
        ("sample", "add"): G * N + 12, ("sample", "compare"): G * N + 12,
        ("value", "accumulate"): distinct * D, ("value", "address"): distinct,
        # one multiply per tile, head and dimension; then 1/Z
        ("merge", "multiply"): pairs * D + G * D, ("merge", "divide"): G,
        ("merge", "shift"): 2 * pairs, ("merge", "add"): pairs * (1 + D),
    }  # fmt: skip
    assert ledger.bytes("workspace") == 2 * distinct * 4  # no stash: tiles stay on chip


@pytest.mark.parametrize("name", ["santa_iid", "santa_stratified", "santa_systematic",
                                  "s2anta_comb", "s2anta_prop"])
@pytest.mark.parametrize(("samples", "kind"), [(8, OpKind.SHIFT), (1, OpKind.SHIFT),
                                               (6, OpKind.MULTIPLY), (12, OpKind.MULTIPLY)])
def test_the_mean_is_a_shift_for_powers_of_two_and_d_multiplies_otherwise(name, samples, kind):
    merged = decode(sampled(name, samples, TILE), *ramp()).ledger
    assert merged.count(kind, Phase.MERGE) == G * D
    other = {OpKind.SHIFT: OpKind.MULTIPLY, OpKind.MULTIPLY: OpKind.SHIFT}[kind]
    assert merged.count(other, Phase.MERGE) == 0


def test_rounding_to_a_power_of_two_saves_the_multiplies():
    got = decode(sampled("santa_systematic", 6, round_samples="power_of_two"), *ramp())
    assert (got.effective_samples == 8).all()
    assert got.ledger.count(OpKind.MULTIPLY, Phase.MERGE) == 0


def test_rows_drawn_c_times_are_accumulated_once_with_weight_c():
    step = capture_step("t3")
    got = run(sampled("santa_systematic", 256), step, seed=1)
    by_hand = Counter(int(c) for c in got.rows.counts)
    for c, rows in by_hand.items():
        key = OpKey(Phase.VALUE, OpKind.ACCUMULATE, Dtype.FP32, c)
        assert got.ledger.ops[key] == rows * 64
    total = sum(
        key.multiplicity * count
        for key, count in got.ledger.ops.items() if key.kind is OpKind.ACCUMULATE
    )  # fmt: skip
    assert total == 9 * 256 * 64
    assert len(by_hand) > 5


def test_shared_offsets_need_one_random_number_per_group():
    step = capture_step("t0")
    for name, own, shared in (
        ("santa_iid", 9 * 64, 3 * 64), ("santa_stratified", 9 * 64, 3 * 64),
        ("santa_systematic", 9, 3), ("s2anta_comb", 9, 3), ("s2anta_flash", 9 * 32, 3 * 32),
    ):  # fmt: skip
        for offsets, uniforms in (("own", own), ("shared", shared)):
            ledger = run(sampled(name, 64, offsets=offsets), step).ledger
            assert ledger.count(OpKind.RANDOM_BITS) == 24 * uniforms


@pytest.mark.parametrize("value", ["santa_systematic", "santa_iid", "santa_stratified",
                                   "s2anta_comb"])
def test_ternary_scores_and_a_power_of_two_of_draws_multiply_nothing(value):
    spec = sampled(value, 64, scores={"name": "bernoulli_qk", "trials": 12,
                                      "scale": "power_of_two"})
    ledger = run(spec, capture_step("t3")).ledger
    assert ledger.count(OpKind.MULTIPLY) == 0
    assert ledger.count(OpKind.DIVIDE) == 0
    assert ledger.count(OpKind.ACCUMULATE, Phase.SCORE) > 0


@pytest.mark.parametrize("scale", ["exact", "power_of_two"])
def test_ternary_scores_by_hand(scale):
    # q = e_0: with c = |q_0| its digit is 1 in each of R = 4 trials, so one weight 4 per head; with
    # sm_scale 1 the next power of two of c/R is c/R itself
    spec = method("bernoulli_qk", trials=4, scale=scale)
    ledger = decode(spec, *ramp(), sm_scale=1.0).ledger
    assert ledger.ops[OpKey(Phase.SCORE, OpKind.ACCUMULATE, Dtype.FP32, 4)] == G * N
    found = {kind: n for (phase, kind), n in ops(ledger).items() if phase == "score"}
    assert found.pop("accumulate") == G * N
    # c = max |q_j|, one comparison per digit; |q_j|/c per feature; c/R per score
    assert found.pop("compare") == G * D + G * D * 4
    assert found.pop("random_bits") == 24 * G * D * 4
    expected = {
        "exact": {"divide": G * D, "multiply": G * N},
        "power_of_two": {"shift": G * D + G * N},
    }
    assert found == expected[scale]
    assert streams(ledger)["score", "k", "read", N * 2] == (4 * G, 1)  # one of four features


def test_token_major_keys_are_read_whole():
    spec = method("bernoulli_qk", trials=4, key_layout="token_major")
    assert streams(decode(spec, *ramp()).ledger)["score", "k", "read", N * D * 2] == (1, 1)


@pytest.mark.parametrize(
    ("heads", "kv_heads"), [(6, 6), (6, 2), (6, 1)], ids=["MHA", "GQA", "MQA"]
)
def test_bytes_count_kv_heads_and_operations_count_query_heads(heads, kv_heads):
    q = np.ones((2, heads, 8), np.float32)
    k = np.ones((2, 20, kv_heads, 8), np.uint16)
    ledger = decode(method("dense"), q, k, k, seq_lens=np.array([20, 7])).ledger
    for tensor in (Tensor.K, Tensor.V):
        for figure in ("logical", "unique", "moved"):
            assert ledger.bytes(figure, tensor=tensor) == 27 * kv_heads * 8 * 2
    assert ledger.bytes("unique", tensor=Tensor.Q) == 2 * heads * 8 * 2
    assert ledger.count(OpKind.MULTIPLY, Phase.VALUE) == 27 * heads * 8


def test_one_layer_of_llama_3_1_8b_at_32k_is_128_mib_of_keys_and_values():
    llama, n = load_geometry("llama-3.1-8b"), 32768
    # one row of zeros, repeated: bytes do not depend on the values
    q = np.zeros((1, llama.num_qo_heads, llama.head_dim), np.float32)
    row = np.zeros((1, 1, 1, llama.head_dim), np.uint16)
    k = np.broadcast_to(row, (1, n, llama.num_kv_heads, llama.head_dim))
    for ledger in (decode(method("dense"), q, k, k).ledger, expect(method("dense"), q, k).ledger):
        both = [ledger.bytes("moved", tensor=tensor) for tensor in (Tensor.K, Tensor.V)]
        assert sum(both) == 134_217_728
        assert ledger.count(OpKind.MULTIPLY, Phase.SCORE) == 32 * n * 128
