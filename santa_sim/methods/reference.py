"""Slow, obvious float64 versions of every method: the specification that the fast paths obey.

Plain NumPy and loops, one head at a time, straight from the definitions; only the random numbers
(`santa_sim.rng`) are shared with the fast path, so that both draw from the same uniforms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.methods.spec import BernoulliScores, requested_samples, scores_of, value_stage
from santa_sim.rng import DRAWS, TERNARY, stream_key, uniform
from santa_sim.storage import decode_stored

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def softmax(scores: Float) -> Float:
    """Return exp(s − max s) / Σ exp(s − max s)."""
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def ternary_query(query: Float, scores: BernoulliScores, key: Any, head: int) -> Float:
    """Return (c/R) Σ_r t^(r), the average of R random ternary queries."""
    top = float(np.abs(query).max())
    if top == 0:
        return np.zeros_like(query)
    c = top
    if scores.scale == "power_of_two":
        c = scores.trials * 2.0 ** math.ceil(math.log2(top / scores.trials))
    d = len(query)
    digits = np.zeros(d)
    for trial in range(scores.trials):
        for j in range(d):
            if uniform(key, TERNARY, 0, head, trial * d + j) < abs(query[j]) / c:
                digits[j] += np.sign(query[j])
    return np.asarray(digits * (c / scores.trials))


def comb(p: Float, samples: int, offset: float) -> Int:
    """Return ⌊a + S·C_i⌋ − ⌊a + S·C_{i−1}⌋ with C the CDF of p, its last value taken as 1."""
    cdf = np.cumsum(p) / np.sum(p)
    cdf[np.flatnonzero(p)[-1]:] = 1.0
    levels = np.floor(offset + samples * np.concatenate([[0.0], cdf])).astype(np.int64)
    return np.diff(levels)


def at_thresholds(p: Float, thresholds: Float) -> Int:
    """Return how many thresholds fall to each row: the first row whose CDF exceeds them."""
    cdf = np.cumsum(p)
    rows = np.searchsorted(cdf, thresholds * cdf[-1], side="right")
    return np.bincount(rows, minlength=len(p))


def draw(spec: Any, scores: Float, key: Any, head: int) -> tuple[Int, Float]:
    """Return (counts, weights): out = Σ_i counts_i · weights_i · v_i for a sampled value stage.

    scores: [n]; head: index that keys the draws (the KV head's for shared offsets).
    """
    p, n, stage = softmax(scores), len(scores), value_stage(spec)
    samples = requested_samples(spec)
    if stage == "santa_iid":
        u = np.array([uniform(key, DRAWS, 0, head, s) for s in range(samples)])
        return at_thresholds(p, u), np.full(n, 1 / samples)
    if stage == "santa_stratified":
        u = np.array([uniform(key, DRAWS, 0, head, s) for s in range(samples)])
        return at_thresholds(p, (np.arange(samples) + u) / samples), np.full(n, 1 / samples)
    if stage in ("santa_systematic", "s2anta_comb"):
        return comb(p, samples, uniform(key, DRAWS, 0, head, 0)), np.full(n, 1 / samples)
    tiles = [slice(t, min(n, t + spec.tile)) for t in range(0, n, spec.tile)]
    counts, weights = np.zeros(n, np.int64), np.zeros(n)
    if stage == "s2anta_flash":
        budgets = [max(1, samples // len(tiles))] * len(tiles)
    else:
        budgets = largest_remainder([float(p[rows].sum()) for rows in tiles], samples)
    for t, rows in enumerate(tiles):
        if budgets[t] == 0:
            continue
        inside = softmax(scores[rows]) if stage == "s2anta_flash" else p[rows]
        counts[rows] = comb(inside, budgets[t], uniform(key, DRAWS, t, head, 0))
        share = p[rows].sum() / budgets[t] if stage == "s2anta_flash" else 1 / samples
        weights[rows] = share
    return counts, weights


def largest_remainder(masses: list[float], samples: int) -> list[int]:
    """Return budgets ⌊S·P_t⌋, plus one for the largest fractions until they sum to S."""
    quotas = [samples * mass / sum(masses) for mass in masses]
    budgets = [math.floor(quota) for quota in quotas]
    by_fraction = sorted(range(len(quotas)), key=lambda t: (budgets[t] - quotas[t], t))
    for t in [t for t in by_fraction if masses[t] > 0][: samples - sum(budgets)]:
        budgets[t] += 1
    return budgets


def decode_reference(
    spec: Any,
    q: NDArray[np.float32],
    k: NDArray[Any],
    v: NDArray[Any],
    *,
    seq_lens: NDArray[np.int64] | None = None,
    sm_scale: float | None = None,
    seed: int = 0,
    step: int = 0,
    layer: int = 0,
) -> tuple[Float, list[list[Int | None]]]:
    """Return (out float64 [B, H, d], counts[b][h] int64 [n] or None for dense values).

    Arguments as `santa_sim.methods.decode`.
    """
    batch, heads, d = q.shape
    group_size = heads // k.shape[2]
    scale = 1 / math.sqrt(d) if sm_scale is None else sm_scale
    out = np.zeros((batch, heads, d))
    counts: list[list[Int | None]] = [[None] * heads for _ in range(batch)]
    how = scores_of(spec)
    for b in range(batch):
        key = stream_key(seed, step, layer, b)
        n = k.shape[1] if seq_lens is None else int(seq_lens[b])
        for h in range(heads):
            if n == 0:
                counts[b][h] = np.zeros(0, np.int64)
                continue
            keys = decode_stored(k[b, :n, h // group_size]).astype(np.float64)
            values = decode_stored(v[b, :n, h // group_size]).astype(np.float64)
            query = q[b, h].astype(np.float64) * scale
            if isinstance(how, BernoulliScores):
                query = ternary_query(query, how, key, h)
            scores = keys @ query
            if value_stage(spec) == "dense":
                out[b, h] = softmax(scores) @ values
                continue
            stream = h // group_size if spec.offsets == "shared" else h
            drawn, weights = draw(spec, scores, key, stream)
            counts[b][h] = drawn
            out[b, h] = (drawn * weights) @ values
    return out, counts
