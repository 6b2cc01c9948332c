"""Scores: the inner products of one KV group's queries with its stored keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.stored import kernel_view, stored_at


def group_scores(q: NDArray[np.float32], k: NDArray[Any], out: NDArray[np.float32]) -> None:
    """Write the scores of all heads of one KV group, reading the keys once.

    out[g, i] = Σ_j q[g, j]·k[i, j]
    q: float32 [G, d], softmax scale included; k: stored [n, d], any row stride;
    out: float32 [G, n].
    """
    scores_kernel(q, kernel_view(k), out)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def scores_kernel(q: NDArray[np.float32], k: NDArray[Any], out: NDArray[np.float32]) -> None:
    """`group_scores` for callers inside Numba; k as `kernel_view` returns it."""
    for i in range(k.shape[0]):
        for g in range(q.shape[0]):
            total = np.float32(0.0)
            for j in range(q.shape[1]):
                total += stored_at(q, g, j) * stored_at(k, i, j)
            out[g, i] = total
