"""Softmax parts: the largest score of each tile and shifted exponentials."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.exponential import exp_nearest

_MAGNITUDE = np.int32(0x7FFFFFFF)
_INFINITY = np.int32(0x7F800000)
_MINUS_INFINITY = np.int32(-0x800000)


def tile_max(scores: NDArray[np.float32], tile: int, out: NDArray[np.float32]) -> bool:
    """Write the largest score of each tile; return whether every score is finite.

    out[g, t] = max over t·tile <= i < (t + 1)·tile of scores[g, i], −inf for no scores.
    scores: float32 [G, n]; tile: rows per tile; out: float32 [G, T], T = ⌈n/tile⌉ or more. With a
    NaN among the scores of a tile, its maximum means nothing.
    """
    return bool(_tile_max(scores.view(np.int32), tile, out.view(np.int32)))


def exp_shifted(scores: NDArray[np.float32], tile: int, shift: NDArray[np.float32]) -> None:
    """Replace scores[g, i] by exp(scores[g, i] − shift[g, i // tile]), in place.

    scores: float32 [G, n]; tile: rows per tile; shift: float32 [G, T], T = ⌈n/tile⌉. The difference
    is rounded to float32, its exponential is that of `exp_nearest`.
    """
    _exp_shifted(scores, tile, shift)


@njit(cache=True, nogil=True)
def _ordered(bits: np.int32) -> np.int32:
    """Map float32 bits to integers of the same order, and back; −0 comes before +0."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & _MAGNITUDE))


@njit(cache=True, nogil=True)
def _tile_max(scores: NDArray[np.int32], tile: int, out: NDArray[np.int32]) -> bool:
    # as integers, because a maximum of floats that heeds NaN has no vector form
    n = scores.shape[1]
    largest = np.int32(0)
    for g in range(scores.shape[0]):
        for t in range(out.shape[1]):
            top = _ordered(_MINUS_INFINITY)
            for i in range(np.uint64(t * tile), np.uint64(min(n, (t + 1) * tile))):
                bits = scores[g, i]
                top = max(top, _ordered(bits))
                largest = max(largest, np.int32(bits & _MAGNITUDE))
            out[g, t] = _ordered(top)
    return bool(largest < _INFINITY)


@njit(cache=True, nogil=True)
def _exp_shifted(scores: NDArray[np.float32], tile: int, shift: NDArray[np.float32]) -> None:
    n = scores.shape[1]
    for g in range(scores.shape[0]):
        for t in range(shift.shape[1]):
            top = shift[g, t]
            for i in range(np.uint64(t * tile), np.uint64(min(n, (t + 1) * tile))):
                scores[g, i] = exp_nearest(scores[g, i] - top)
