"""The same methods in plain NumPy, as its users would write them: what `decode_cpu` compares with.

Scores and dense values by matmul or by einsum, softmax in float32, running masses in float64 as the
methods need them, and sums over the drawn rows only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def as_float32(stored: Array) -> Array:
    """Return stored numbers as float32; bf16 (uint16) is the upper half of a float32."""
    if stored.dtype == np.uint16:
        return (stored.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return stored.astype(np.float32, copy=False)


def scores_by_matmul(q: Array, k: Array) -> Array:
    """Return [KVH, G, n] for q [KVH, G, d] and k float32 [n, KVH, d]."""
    return np.matmul(q, k.transpose(1, 2, 0))


def scores_by_einsum(q: Array, k: Array) -> Array:
    """Return [KVH, G, n] for q [KVH, G, d] and k float32 [n, KVH, d]."""
    return np.einsum("hgd,nhd->hgn", q, k)


def values_by_matmul(p: Array, v: Array) -> Array:
    """Return [KVH, G, d] for p [KVH, G, n] and v float32 [n, KVH, d]."""
    return np.matmul(p, v.transpose(1, 0, 2))


def values_by_einsum(p: Array, v: Array) -> Array:
    """Return [KVH, G, d] for p [KVH, G, n] and v float32 [n, KVH, d]."""
    return np.einsum("hgn,nhd->hgd", p, v)


PRODUCTS: dict[str, tuple[Callable[..., Array], Callable[..., Array]]] = {
    "matmul": (scores_by_matmul, values_by_matmul),
    "einsum": (scores_by_einsum, values_by_einsum),
}


def dense(q: Array, k: Array, v: Array, product: str) -> Array:
    """Exact attention of one sequence: q [H, d], k and v stored [n, KVH, d] -> [H, d]."""
    scores, values = PRODUCTS[product]
    s = scores(_grouped(q, k), as_float32(k))
    s -= s.max(axis=2, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(axis=2, keepdims=True)
    return values(s, as_float32(v)).reshape(q.shape)


def systematic(q: Array, k: Array, v: Array, product: str, samples: int) -> Array:
    """`santa_systematic` and `s2anta_comb` (they draw the same rows), one offset per head."""
    s = PRODUCTS[product][0](_grouped(q, k), as_float32(k)).reshape(len(q), -1)
    s -= s.max(axis=1, keepdims=True)
    np.exp(s, out=s)
    cdf = np.cumsum(s, axis=1, dtype=np.float64)
    cdf *= samples / cdf[:, -1:]
    cdf += np.random.default_rng(0).random((len(q), 1))
    counts = np.diff(cdf.astype(np.int32), axis=1, prepend=0)
    return _mean_of_rows(counts, np.full(counts.shape[1], 1 / samples), q, v)


def at_thresholds(
    q: Array, k: Array, v: Array, product: str, samples: int, stratified: bool
) -> Array:
    """`santa_iid`, or `santa_stratified` with one threshold in each of S strata."""
    s = PRODUCTS[product][0](_grouped(q, k), as_float32(k)).reshape(len(q), -1)
    s -= s.max(axis=1, keepdims=True)
    np.exp(s, out=s)
    cdf = np.cumsum(s, axis=1, dtype=np.float64)
    u = np.random.default_rng(0).random((len(q), samples))
    if stratified:
        u = (u + np.arange(samples)) / samples
    n = cdf.shape[1]
    counts = np.stack([
        np.bincount(np.searchsorted(row, t * row[-1], side="right"), minlength=n)
        for row, t in zip(cdf, u, strict=True)
    ])
    return _mean_of_rows(counts, np.full(n, 1 / samples), q, v)


def flash(q: Array, k: Array, v: Array, product: str, samples: int, tile: int) -> Array:
    """`s2anta_flash` for n a multiple of the tile."""
    s = PRODUCTS[product][0](_grouped(q, k), as_float32(k)).reshape(len(q), -1, tile)
    top = s.max(axis=2, keepdims=True)
    s -= top
    np.exp(s, out=s)
    cdf = np.cumsum(s, axis=2, dtype=np.float64)
    mass = cdf[:, :, -1] * np.exp(top[:, :, 0] - top.max(axis=1))
    budget = max(1, samples // s.shape[1])
    cdf *= budget / cdf[:, :, -1:]
    cdf += np.random.default_rng(0).random((len(q), s.shape[1], 1))
    counts = np.diff(cdf.astype(np.int32), axis=2, prepend=0).reshape(len(q), -1)
    weights = np.repeat(mass / mass.sum(axis=1, keepdims=True) / budget, tile, axis=1)
    return _mean_of_rows(counts, weights, q, v)


def _grouped(q: Array, k: Array) -> Array:
    return q.reshape(k.shape[1], -1, q.shape[1]) / np.float32(math.sqrt(q.shape[1]))


def _mean_of_rows(counts: Array, weights: Array, q: Array, v: Array) -> Array:
    out = np.empty(q.shape, np.float32)
    group = len(q) // v.shape[1]
    for head in range(len(q)):
        rows = np.flatnonzero(counts[head])
        w = np.broadcast_to(weights, counts.shape)[head, rows] * counts[head, rows]
        out[head] = w.astype(np.float32) @ as_float32(v[rows, head // group])
    return out
