"""Values: dense weighted sums of stored rows, and the sum of a few drawn rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.stored import kernel_view, stored_at


def weighted_rows(weights: NDArray[np.float32], v: NDArray[Any], out: NDArray[np.float64]) -> None:
    """Write out[g] = Σ_i weights[g, i]·v[i].

    weights: float32 [G, n]; v: stored [n, d], any row stride; out: float64 [G, d].
    """
    weighted_rows_kernel(weights, kernel_view(v), out)


def gather_rows(
    rows: NDArray[np.integer[Any]],
    counts: NDArray[np.int32],
    v: NDArray[Any],
    out: NDArray[np.float64],
) -> None:
    """Write out = Σ_k counts[k]·v[rows[k]].

    rows: int32 or int64 [m], within 0..n−1 (not checked); counts: int32 [m];
    v: stored [n, d], any row stride; out: float64 [d].
    """
    gather_rows_kernel(rows, counts, kernel_view(v), out)


@njit(cache=True, nogil=True)
def weighted_rows_kernel(
    weights: NDArray[np.float32], v: NDArray[Any], out: NDArray[np.float64]
) -> None:
    """`weighted_rows` for callers inside Numba; v as `kernel_view` returns it."""
    out[:] = 0.0
    for i in range(v.shape[0]):
        for g in range(weights.shape[0]):
            for j in range(v.shape[1]):
                out[g, j] += np.float64(weights[g, i]) * np.float64(stored_at(v, i, j))


@njit(cache=True, nogil=True)
def gather_rows_kernel(
    rows: NDArray[np.integer[Any]],
    counts: NDArray[np.int32],
    v: NDArray[Any],
    out: NDArray[np.float64],
) -> None:
    """`gather_rows` for callers inside Numba; v as `kernel_view` returns it."""
    out[:] = 0.0
    for k in range(rows.shape[0]):
        for j in range(v.shape[1]):
            out[j] += np.float64(counts[k]) * np.float64(stored_at(v, rows[k], j))
