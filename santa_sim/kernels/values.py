"""Dense values: weighted sums over all stored rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.stored import StoredView, kernel_view, stored_at
from santa_sim.kernels.vectors import HEADS, LANES
from santa_sim.kernels.weigh_tile import weigh_tile

_BLOCK = 128
"""Rows whose weights are widened to float64 together."""

_RUN_BYTES = 16384
"""Stretch of memory whose rows one KV head takes before the next, and the prefetch distance: short,
so that memory is read almost in order and waits in a first-level cache."""


def weighted_rows(weights: NDArray[np.float32], v: NDArray[Any], out: NDArray[np.float64]) -> None:
    """Write out[h] = Σ_i weights[h, i]·v[i, h // G], in float64 and in row order.

    weights: float32 [H, n]; v: stored [n, KVH, d], any strides but the last's, or [n, d] of one KV
    head; out: float64 [H, d]; G = H/KVH.
    """
    values = kernel_view(v)
    _weighted(weights, values, out)
    if out.shape[1] % LANES:
        _weigh_last_columns(weights, values, out)


@njit(cache=True, nogil=True)
def _weighted(weights: NDArray[np.float32], v: StoredView, out: NDArray[np.float64]) -> None:
    heads = weights.shape[0]
    group = heads // v.heads
    run = min(max(1, _RUN_BYTES // max(1, abs(v.row_bytes))), _BLOCK)
    block = np.empty((heads, _BLOCK), np.float64)
    out[:] = 0.0
    for start in range(0, v.rows, _BLOCK):
        stop = min(v.rows, start + _BLOCK)
        # unsigned: Numba checks signed indices for "from the end", which keeps LLVM from vectors
        for g in range(np.uint64(heads)):
            for i in range(np.uint64(stop - start)):
                block[g, i] = weights[g, np.uint64(start) + i]
        for i in range(start, stop, run):
            count = min(run, stop - i)
            for h in range(v.heads):
                first = h * group
                for g in range(0, group, HEADS):
                    weigh_tile(v, i, count, h, run * v.row_bytes, block, i - start, first + g,
                               first + group - 1, out)


@njit(cache=True, nogil=True)
def _weigh_last_columns(
    weights: NDArray[np.float32], v: StoredView, out: NDArray[np.float64]
) -> None:
    """Write the d mod LANES last columns, which no tile has seen."""
    heads, d = out.shape
    group = heads // v.heads
    for g in range(heads):
        for i in range(v.rows):
            for j in range(d - d % LANES, d):
                out[g, j] += np.float64(weights[g, i]) * stored_at(v, i, g // group, j)
