"""Scores: the inner products of queries with the stored keys of their KV heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.dot_tile import TILE_BYTES, dot_tile
from santa_sim.kernels.stored import StoredView, kernel_view, stored_at
from santa_sim.kernels.vectors import HEADS, LANES, MOST_KEYS

_BLOCK = 128
"""Keys whose scores are gathered before they go out: rows of `out` that lie a power of two apart
would push one another out of the cache if every tile wrote to all of them."""

_AHEAD_BYTES = 8192
"""Prefetch distance: a few cache lines per KV head, well within a first-level cache."""

_LINE_BYTES = 64


def group_scores(q: NDArray[np.float32], k: NDArray[Any], out: NDArray[np.float32]) -> None:
    """Write the scores of all heads of one KV group, reading the keys once.

    out[g, i] = Σ_j q[g, j]·k[i, j]
    q: float32 [G, d], softmax scale included; k: stored [n, d], any row stride;
    out: float32 [G, n].
    """
    head_scores(q, k[:, None], out)


def head_scores(q: NDArray[np.float32], k: NDArray[Any], out: NDArray[np.float32]) -> None:
    """Write the scores of all query heads of one sequence, reading the keys once, in their order.

    out[h, i] = Σ_j q[h, j]·k[i, h // G, j], G = H/KVH
    q: float32 [H, d], softmax scale included; k: stored [n, KVH, d], any strides but the last's;
    out: float32 [H, n].
    """
    query, keys = _on_cache_lines(q), kernel_view(k)
    _scores(query, keys, out)
    if q.shape[1] % LANES:
        _add_last_columns(query, keys, out)


def _on_cache_lines(q: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a C-ordered copy whose first byte starts a cache line.

    Queries are loaded again for every tile, and a vector that straddles two lines costs two loads.
    """
    room = np.empty(q.nbytes + _LINE_BYTES, np.uint8)
    start = -room.ctypes.data % _LINE_BYTES
    copy = room[start : start + q.nbytes].view(np.float32).reshape(q.shape)
    copy[:] = q
    return copy


@njit(cache=True, nogil=True)
def _scores(q: NDArray[np.float32], k: StoredView, out: NDArray[np.float32]) -> None:
    heads = q.shape[0]
    group = heads // k.heads
    keys = min(TILE_BYTES // k.item_bytes, MOST_KEYS)
    ahead = max(1, _AHEAD_BYTES // max(1, abs(k.row_bytes))) * k.row_bytes
    block = np.empty((heads, _BLOCK), np.float32)
    for start in range(0, k.rows, _BLOCK):
        stop = min(k.rows, start + _BLOCK)
        for i in range(start, stop, keys):
            for h in range(k.heads):
                first = h * group
                for g in range(0, group, HEADS):
                    dot_tile(k, i, k.rows - 1, h, ahead, q, first + g, first + group - 1,
                             block, i - start)
        # unsigned: Numba checks signed indices for "from the end", which keeps LLVM from vectors
        for g in range(np.uint64(heads)):
            for i in range(np.uint64(stop - start)):
                out[g, np.uint64(start) + i] = block[g, i]


@njit(cache=True, nogil=True)
def _add_last_columns(q: NDArray[np.float32], k: StoredView, out: NDArray[np.float32]) -> None:
    """Add the products of the d mod LANES last columns, which no tile has seen."""
    heads, d = q.shape
    group = heads // k.heads
    for g in range(heads):
        for i in range(k.rows):
            for j in range(d - d % LANES, d):
                out[g, i] += q[g, j] * stored_at(k, i, g // group, j)
