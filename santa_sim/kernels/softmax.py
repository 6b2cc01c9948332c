"""Softmax parts: the largest score of each head and shifted exponentials."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def row_max(scores: NDArray[np.float32], out_max: NDArray[np.float32]) -> None:
    """Write the largest score of each head, −inf for no scores; NaN propagates.

    scores: float32 [G, n]; out_max: float32 [G].
    """
    for g in range(scores.shape[0]):
        top = np.float32(-np.inf)
        for i in range(scores.shape[1]):
            value = scores[g, i]
            if value > top or value != value:
                top = value
        out_max[g] = top


@njit(cache=True, nogil=True)
def exp_shifted(
    scores: NDArray[np.float32], shift: NDArray[np.float32], out: NDArray[np.float32]
) -> None:
    """Write out[g, i] = exp(scores[g, i] − shift[g]); float32 [G, n], [G], [G, n]."""
    for g in range(scores.shape[0]):
        for i in range(scores.shape[1]):
            out[g, i] = np.exp(np.float64(scores[g, i] - shift[g]))
