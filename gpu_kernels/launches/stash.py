"""Bytes of a stash of weights, and of what draws read from it."""

from __future__ import annotations

from gpu_kernels.launches.call import MASS_BYTES, MEMORY_ATOM, STASH_BYTES


def stash_bytes(heads: int, tiles: int, tile: int, block: int) -> int:
    """Return bytes of weights, block masses, tile masses and maxima of `heads` query heads."""
    per_tile = tile * STASH_BYTES + (tile // block) * MASS_BYTES + 2 * MASS_BYTES
    return heads * tiles * per_tile


def drawn_stash_bytes(
    draws: float, heads: int, tiles: int, tile: int, block: int
) -> tuple[float, float]:
    """Return (bytes that draws read from a stash at least once, bytes that they read again).

    draws: of all heads. Each reads the block masses of its tile, and one block of weights.
    """
    masses = -(-(tile // block) * MASS_BYTES // MEMORY_ATOM) * MEMORY_ATOM
    weights = -(-block * STASH_BYTES // MEMORY_ATOM) * MEMORY_ATOM
    distinct = min(draws, heads * tiles)
    return draws * weights + distinct * masses, (draws - distinct) * masses
