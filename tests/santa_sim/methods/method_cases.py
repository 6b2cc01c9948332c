"""Inputs, methods and the float64 oracle that the tests of `santa_sim.methods` share."""

import math
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np

from hw_models.ledger import Dtype
from santa_sim.data.capture import load_capture
from santa_sim.methods import decode, method
from santa_sim.storage import decode_stored, encode

DATA = Path(__file__).parents[2] / "data"
SAMPLED = (
    "santa_iid", "santa_stratified", "santa_systematic", "s2anta_flash", "s2anta_prop",
    "s2anta_comb",
)  # fmt: skip
TILED = ("s2anta_flash", "s2anta_prop", "s2anta_comb")
UNIT_ROUNDOFF = 2.0**-24
"""Largest relative error of rounding to float32."""


def sampled(name, samples, tile=64, **parameters):
    if name in TILED:
        parameters["tile"] = tile
    return method(name, samples=samples, **parameters)


def every_method(samples, tile=64, trials=8):
    """Every method name with exact and with ternary scores, own and shared offsets."""
    ternary = {"name": "bernoulli_qk", "trials": trials}
    found = [
        method("dense", tile=tile),
        method("dense", tile=tile, scores=ternary),
        method("bernoulli_qk", tile=tile, trials=trials, scale="power_of_two"),
    ]
    for name in SAMPLED:
        for offsets in ("own", "shared"):
            for scores in ({"name": "exact"}, ternary):
                found.append(sampled(name, samples, tile, offsets=offsets, scores=scores))
    return found


@cache
def capture_step(trace, step=3):
    """The inputs of one decode step of real attention."""
    shipped = load_capture("smollm2-135m")
    names = {t.id for t in shipped.traces}
    capture = shipped if trace in names else load_capture(DATA / "smollm2_t1_t5.npz")
    return capture.steps(traces=[trace], steps=[step])[0]


def run(spec, step, **more):
    return decode(
        spec, step.q, step.k, step.v, seq_lens=step.seq_lens, sm_scale=step.sm_scale,
        layer=step.layer, step=step.step, **more,
    )  # fmt: skip


def in_eighths(values):
    """Round to multiples of 1/8: products and sums of those are exact in float32 (below 2^17)."""
    return np.round(np.asarray(values, np.float64) * 8) / 8


def random_inputs(seed, batch=1, heads=4, kv_heads=2, n=50, d=8, dtype=Dtype.FP32):
    """q, k, v of normal numbers in eighths, which every storage format holds exactly."""
    rng = np.random.default_rng(seed)
    q = in_eighths(2 * rng.normal(size=(batch, heads, d))).astype(np.float32)
    k, v = (encode(in_eighths(rng.normal(size=(batch, n, kv_heads, d))), dtype) for _ in range(2))
    return q, k, v


def softmax_of(query, keys, sm_scale):
    """float64 softmax of one head: query [d], keys stored [n, d]."""
    scores = decode_stored(keys).astype(np.float64) @ query.astype(np.float64) * sm_scale
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def exact_attention(q, k, v, sm_scale=None, seq_lens=None):
    """Σ p_i v_i in float64, head by head; an empty sequence gives zeros."""
    batch, heads, d = q.shape
    group = heads // k.shape[2]
    scale = 1 / math.sqrt(d) if sm_scale is None else sm_scale
    out = np.zeros(q.shape)
    for b in range(batch):
        n = k.shape[1] if seq_lens is None else seq_lens[b]
        for h in range(heads if n else 0):
            p = softmax_of(q[b, h], k[b, :n, h // group], scale)
            out[b, h] = p @ decode_stored(v[b, :n, h // group]).astype(np.float64)
    return out


def streams(spec, q, k, v, count=2000, seed=0, sm_scale=None):
    """Outputs float64 [count, H, d] of one sequence under `count` independent random streams.

    The batch rows and seeds key the streams, so ten seeds times count/10 equal rows are that many.
    """
    rows = count // 10

    def repeated(array):
        return np.broadcast_to(array, (rows, *array.shape[1:]))

    parts = [
        decode(spec, repeated(q), repeated(k), repeated(v), seed=seed + i, sm_scale=sm_scale).out
        for i in range(10)
    ]
    return np.concatenate(parts).astype(np.float64)


def z_bound(comparisons, false_alarm=1e-3):
    """|z| that the largest of so many normal variables exceeds with at most `false_alarm`."""
    return NormalDist().inv_cdf(1 - false_alarm / (2 * comparisons))
