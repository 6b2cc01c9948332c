"""Every wrong argument is a `ValueError` that names it, before any work is done."""

import re

import ml_dtypes
import numpy as np
import pytest
from method_cases import every_method, random_inputs, sampled

from hw_models.ledger import Dtype
from santa_sim.methods import METHOD_NAMES, decode, expect, label, method
from santa_sim.methods.spec import requested_samples

Q, K, V = random_inputs(1, batch=2, heads=4, kv_heads=2, n=20, d=8)


def changed(array, index, value):
    copy = array.copy()
    copy[index] = value
    return copy


BAD_SHAPES = {
    "q must be float32 [B, H, d], got float64 [2, 4, 8]": {"q": Q.astype(np.float64)},
    "q must be float32 [B, H, d], got float32 [4, 8]": {"q": Q[0]},
    "q must have B, H and d of at least 1, got [2, 0, 8]": {"q": Q[:, :0]},
    "q must have B, H and d of at least 1, got [2, 4, 0]":
        {"q": Q[..., :0], "k": K[..., :0], "v": V[..., :0]},
    "q must have B, H and d of at least 1, got [0, 4, 8]": {"q": Q[:0], "k": K[:0], "v": V[:0]},
    "k: dtype must be float32, float16 or bf16 (uint16 or ml_dtypes.bfloat16), got float64":
        {"k": K.astype(np.float64)},
    "k must be [B, n, KVH, d] with B = 2 and d = 8, got [20, 2, 8]": {"k": K[0]},
    "k must be [B, n, KVH, d] with B = 2 and d = 8, got [1, 20, 2, 8]": {"k": K[:1]},
    "k must be [B, n, KVH, d] with B = 2 and d = 8, got [2, 20, 2, 7]": {"k": K[..., :7]},
    "H must be a multiple of KVH, got H = 3, KVH = 2": {"q": Q[:, :3]},
    "H must be a multiple of KVH, got H = 4, KVH = 0": {"k": K[:, :, :0], "v": V[:, :, :0]},
    "seq_lens must be 2 integers, got int64 (1,)": {"seq_lens": np.array([20])},
    "seq_lens must be 2 integers, got float64 (2,)": {"seq_lens": np.array([20.0, 3.0])},
    "seq_lens must be within 0..20, got [21, 3]": {"seq_lens": np.array([21, 3])},
    "seq_lens must be within 0..20, got [20, -1]": {"seq_lens": np.array([20, -1])},
    "sm_scale must be finite and above 0, got 0.0": {"sm_scale": 0.0},
    "sm_scale must be finite and above 0, got -1.0": {"sm_scale": -1.0},
    "sm_scale must be finite and above 0, got nan": {"sm_scale": np.nan},
    "sm_scale must be finite and above 0, got inf": {"sm_scale": np.inf},
    "sm_scale must keep q·sm_scale within float32, got 1e+39": {"sm_scale": 1e39},
    "sm_scale must keep q·sm_scale within float32, got 3e+38": {"sm_scale": 3e38},
    "sm_scale must keep q·sm_scale within float32, got 1e-60": {"sm_scale": 1e-60},
    "q must be finite, but q[1, 2, 3] is not": {"q": changed(Q, (1, 2, 3), np.nan)},
}  # fmt: skip
BAD_FOR_BOTH = {
    "k must be finite, but k[1, 19, 0, 7] is not": {"k": changed(K, (1, 19, 0, 7), np.nan)},
    "k must be finite, but k[0, 5, 1, 2] is not": {"k": changed(K, (0, 5, 1, 2), -np.inf)},
    "scores of sequence 0, KV head 0 are not finite: q, k or sm_scale is too large for float32":
        {"q": changed(Q, 0, 1e30), "k": changed(K, (0, 5), 1e30)},
    "scores of sequence 1, KV head 1 are not finite: q, k or sm_scale is too large for float32":
        {"q": changed(Q, (1, 3), 1e30), "k": changed(K, (1, slice(0, 16), 1), -1e30)},
} | BAD_SHAPES  # fmt: skip
BAD_FOR_DECODE = {
    "v: dtype must be float32, float16 or bf16 (uint16 or ml_dtypes.bfloat16), got int32":
        {"v": V.astype(np.int32)},
    "v must be as k, float32 [2, 20, 2, 8], got float32 [2, 19, 2, 8]": {"v": V[:, :19]},
    "v must be as k, float32 [2, 20, 2, 8], got float16 [2, 20, 2, 8]":
        {"v": V.astype(np.float16)},
    "v must be finite, but v[1, 4, 0, 6] is not": {"v": changed(V, (1, 4, 0, 6), np.inf)},
    "v must be finite, but v[0, 19, 1, 0] is not": {"v": changed(V, (0, 19, 1, 0), np.nan)},
    "seed must be within 0..2^64-1, got -1": {"seed": -1},
    "step must be within 0..2^20-1, got 1048576": {"step": 2**20},
    "layer must be within 0..2^12-1, got 4096": {"layer": 4096},
} | BAD_FOR_BOTH  # fmt: skip
ONE_OF_EACH = [method("dense"), method("bernoulli_qk", trials=4), sampled("s2anta_flash", 8, 4)]


@pytest.mark.parametrize("spec", ONE_OF_EACH, ids=label)
@pytest.mark.parametrize("message", BAD_FOR_DECODE)
def test_decode_refuses(message, spec):
    arguments = {"q": Q, "k": K, "v": V, **BAD_FOR_DECODE[message]}
    with pytest.raises(ValueError, match=re.escape(message)):
        decode(spec, arguments.pop("q"), arguments.pop("k"), arguments.pop("v"), **arguments)


@pytest.mark.parametrize("spec", ONE_OF_EACH, ids=label)
@pytest.mark.parametrize("message", BAD_FOR_BOTH)
def test_expect_refuses(message, spec):
    arguments = {"q": Q, "k": K, **BAD_FOR_BOTH[message]}
    arguments.pop("v", None)
    with pytest.raises(ValueError, match=re.escape(message)):
        expect(spec, arguments.pop("q"), arguments.pop("k"), **arguments)


@pytest.mark.parametrize("dtype", [Dtype.FP16, Dtype.BF16])
@pytest.mark.parametrize(("pattern", "what"), [("nan", np.nan), ("inf", np.inf)])
def test_sixteen_bit_keys_and_values_are_checked_too(dtype, pattern, what):
    q, k, v = random_inputs(2, n=9, dtype=dtype)
    bad = {Dtype.FP16: {"nan": 0x7E00, "inf": 0xFC00}, Dtype.BF16: {"nan": 0x7FC0, "inf": 0xFF80}}
    for name, arrays in (("k", [k.copy(), v]), ("v", [k, v.copy()])):
        arrays["kv".index(name)].view(np.uint16)[0, 7, 1, 3] = bad[dtype][pattern]
        with pytest.raises(ValueError, match=re.escape(f"{name} must be finite, but {name}[0, 7,")):
            decode(method("dense"), q, *arrays)


def test_bfloat16_arrays_are_checked_too():
    q, k, v = random_inputs(2, n=9, dtype=Dtype.BF16)
    v = v.view(ml_dtypes.bfloat16).copy()
    v[0, 8, 0, 0] = np.nan
    with pytest.raises(ValueError, match=re.escape("v[0, 8, 0, 0]")):
        decode(method("dense"), q, k.view(ml_dtypes.bfloat16), v)


def test_rows_whose_numbers_do_not_lie_side_by_side_are_refused():
    k = np.repeat(K, 2, axis=3)[..., ::2]
    with pytest.raises(ValueError, match="last axis must be contiguous"):
        decode(method("dense"), Q, k, V)


@pytest.mark.parametrize(
    ("name", "near"),
    [("santa_idd", "santa_iid"), ("s2anta-flash", "s2anta_flash"), ("Dense", "dense"),
     ("bernoulli", "bernoulli_qk"), ("comb", "s2anta_comb"), ("", None), (None, None)],
)  # fmt: skip
def test_an_unknown_method_is_named_with_the_nearest_one(name, near):
    hint = f"; did you mean '{near}'?" if near else ""
    message = f"no method named {name!r}{hint} (valid: bernoulli_qk, dense, s2anta_comb,"
    with pytest.raises(ValueError, match=re.escape(message)):
        method(name, samples=8)


@pytest.mark.parametrize(
    ("where", "parameters"),
    [
        ("samples", {"name": "santa_iid", "samples": 0}),
        ("samples", {"name": "santa_iid", "samples": -4}),
        ("samples", {"name": "santa_iid", "samples": 2**24 + 1}),
        ("samples", {"name": "s2anta_comb", "samples": 2.5}),
        ("samples", {"name": "s2anta_comb"}),
        ("tile", {"name": "s2anta_flash", "samples": 8, "tile": 0}),
        ("tile", {"name": "santa_iid", "samples": 8, "tile": 64}),
        ("offsets", {"name": "santa_iid", "samples": 8, "offsets": "mine"}),
        ("round_samples", {"name": "santa_iid", "samples": 8, "round_samples": "up"}),
        ("samples", {"name": "dense", "samples": 8}),
        ("trials", {"name": "bernoulli_qk", "trials": 0}),
        ("trials", {"name": "bernoulli_qk", "trials": 4097}),
        ("scale", {"name": "bernoulli_qk", "trials": 4, "scale": "fast"}),
        ("scores", {"name": "santa_iid", "samples": 8, "scores": {"name": "sharp"}}),
        ("key_layout", {"name": "bernoulli_qk", "trials": 4, "key_layout": "mixed"}),
    ],
)
def test_a_wrong_parameter_is_named(where, parameters):
    with pytest.raises(ValueError, match=rf"\b{where}\b"):
        method(**parameters)


@pytest.mark.parametrize(
    ("samples", "rounded"),
    [(1, 1), (2, 2), (3, 4), (5, 4), (6, 8), (11, 8), (12, 16), (95, 64), (96, 128),
     (2**24, 2**24), (2**23 + 2**22 - 1, 2**23)],
)  # fmt: skip
def test_samples_round_to_the_nearest_power_of_two_ties_up(samples, rounded):
    spec = sampled("santa_iid", samples, round_samples="power_of_two")
    assert requested_samples(spec) == rounded
    assert requested_samples(sampled("santa_iid", samples)) == samples


def test_labels_tell_methods_apart():
    specs = every_method(8) + every_method(16, tile=32, trials=4)
    specs += [sampled("santa_iid", 8, scores={"name": "bernoulli_qk", "trials": 8, **more})
              for more in ({"scale": "power_of_two"}, {"key_layout": "token_major"})]  # fmt: skip
    specs += [method("dense", tile=16), method("bernoulli_qk", trials=4, tile=16)]
    specs += [sampled("santa_iid", 63, round_samples="power_of_two"), sampled("santa_iid", 64)]
    specs = list(dict.fromkeys(specs))
    assert len({label(spec) for spec in specs}) == len(specs)
    assert {spec.name for spec in specs} == set(METHOD_NAMES)


def test_methods_are_values():
    one, two = sampled("s2anta_comb", 8), sampled("s2anta_comb", 8)
    assert one == two
    assert hash(one) == hash(two)
    with pytest.raises(ValueError, match="frozen"):
        one.samples = 9


def test_without_the_check_only_what_is_drawn_must_be_finite():
    q = np.zeros((1, 1, 4), np.float32)
    k = np.zeros((1, 8, 1, 4), np.float32)
    k[0, 2] = 50.0  # with this query row 2 has all of the mass
    q[:] = 50.0
    v = np.ones((1, 8, 1, 4), np.float32)
    v[0, 5, 0, 1] = np.nan
    spec = method("santa_systematic", samples=4)
    with pytest.raises(ValueError, match=r"v must be finite, but v\[0, 5, 0, 1\] is not"):
        decode(spec, q, k, v)
    assert (decode(spec, q, k, v, check_finite=False).out == 1).all()
    v[0, 2, 0, 3] = np.inf
    with pytest.raises(ValueError, match=r"v must be finite, but v\[0, 2, 0, 3\] is not"):
        decode(spec, q, k, v, check_finite=False)
