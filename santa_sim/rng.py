"""Counter-based random numbers: a draw depends only on what it is for, never on order or threads.

Philox4x32-10 (Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3"), keyed by the
seed and counted by (purpose, draw, tile, batch, head, step, layer), so that no two tiles, heads,
steps or layers share draws and any one of them can be redone alone. The same counter layout gives
the same draws on a GPU (`tl.philox`).
"""

from __future__ import annotations

from operator import index

import numpy as np
from numba import njit
from numpy.typing import NDArray

DRAWS = 0
"""Purpose of the uniforms that pick rows (offsets, strata, independent draws)."""
TERNARY = 1
"""Purpose of the uniforms that turn a query into ternary digits."""

UNIFORM_BITS = 24
"""Random bits in one uniform: u = word >> 8, times 2^-24, exact in float32 and always below 1."""

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True)
def philox4x32(
    c0: np.uint32, c1: np.uint32, c2: np.uint32, c3: np.uint32, k0: np.uint32, k1: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return four 32-bit words for a 128-bit counter and a 64-bit key (ten rounds)."""
    for _ in range(10):
        product0 = np.uint64(c0) * _M0
        product1 = np.uint64(c2) * _M1
        high0 = np.uint32(product0 >> np.uint64(32))
        low0 = np.uint32(product0 & _LOW)
        high1 = np.uint32(product1 >> np.uint64(32))
        low1 = np.uint32(product1 & _LOW)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0 = np.uint32(k0 + _W0)
        k1 = np.uint32(k1 + _W1)
    return c0, c1, c2, c3


@njit(cache=True, nogil=True)
def uniform(key: NDArray[np.uint32], purpose: int, tile: int, head: int, draw: int) -> float:
    """Return the uniform in [0, 1) with index `draw` for one tile and head.

    key: uint32[4] from `stream_key`: seed low, seed high, batch word, step word.
    purpose: `DRAWS` or `TERNARY`; tile: 0..2^32-1; head: 0..2^16-1; draw: 0..2^30-1 (unchecked:
    beyond these ranges, draws repeat).
    Counter: (purpose << 28 | draw // 4, tile, batch << 16 | head, step << 12 | layer);
    u = (word[draw % 4] >> 8) · 2^-24.
    """
    words = philox4x32(
        np.uint32((purpose << 28) | (draw >> 2)),
        np.uint32(tile),
        np.uint32(key[2] | np.uint32(head)),
        key[3],
        key[0],
        key[1],
    )
    word = words[0]
    if draw & 3 == 1:
        word = words[1]
    elif draw & 3 == 2:
        word = words[2]
    elif draw & 3 == 3:
        word = words[3]
    return np.float64(word >> np.uint32(8)) * 2.0**-24


def stream_key(seed: int, step: int, layer: int, batch: int) -> NDArray[np.uint32]:
    """Return the uint32[4] key words for one sequence of one decode step.

    seed: 0..2^64-1; step: decode step, 0..2^20-1; layer: 0..2^12-1; batch: row of the batch,
    0..2^16-1. Raises `ValueError` outside these ranges, `TypeError` for a number that is not whole.
    """
    # NumPy's narrow integers would overflow in the shifts below
    seed, step, layer, batch = index(seed), index(step), index(layer), index(batch)
    for name, value, bits in (
        ("seed", seed, 64), ("step", step, 20), ("layer", layer, 12), ("batch", batch, 16)
    ):
        if not 0 <= value < 2**bits:
            raise ValueError(f"{name} must be within 0..2^{bits}-1, got {value}")
    return np.array(
        [seed & 0xFFFFFFFF, seed >> 32, batch << 16, (step << 12) | layer], dtype=np.uint32
    )
