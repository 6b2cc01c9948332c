"""`s2anta_flash`: the same budget in every tile, systematic inside, tiles merged by their mass.

S_t = max(1, ⌊S/T⌋) draws in each of the T tiles on u = exp(s − m_t), and
out = Σ_t w_t · (mean of the tile's rows), w_t = ℓ_t·exp(m_t − m*)/Z, as FlashDecoding merges.
Unbiased; the effective budget is T·S_t, which can be far from S (arXiv 2605.01910, section 3.4).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from santa_sim.methods.cdf import comb_rows, tile_masses
from santa_sim.rng import DRAWS, uniform


def tile_budget(samples: int, tiles: int) -> int:
    """Return S_t = max(1, ⌊S/T⌋), the draws that every tile makes (0 without tiles)."""
    return max(1, samples // tiles) if tiles else 0


@njit(cache=True, nogil=True)
def draw(mass, key, head, budget, tile, counts, tile_mass):  # type: ignore[no-untyped-def]
    """Count how often each row is drawn, and find each tile's mass ℓ_t.

    mass: float32 [n], exp(s − m_t) with the tile's own maximum m_t, so every tile has mass >= 1;
    key, head: random stream; budget: S_t; tile: BN rows; counts: int32 [n], zeros on entry,
    Σ = T·S_t on return; tile_mass: float64 [T], overwritten.
    """
    n = mass.shape[0]
    tile_mass[:] = tile_masses(mass, tile)
    for t in range(tile_mass.shape[0]):
        stop = min(n, (t + 1) * tile)
        rows = mass[t * tile:stop]
        offset = uniform(key, DRAWS, t, head, 0)
        comb_rows(rows, 0.0, budget / tile_mass[t], offset, 0, budget, counts[t * tile:stop])


@njit(cache=True, nogil=True)
def merge_weights(tile_max, tile_mass, out):  # type: ignore[no-untyped-def]
    """Fill w_t = ℓ_t·exp(m_t − m*)/Z with m* = max m_t, Σ w = 1.

    tile_max: float32 [T]; tile_mass: float64 [T]; out: float64 [T].
    """
    top = tile_max.max()
    total = 0.0
    for t in range(out.shape[0]):
        out[t] = tile_mass[t] * np.exp(np.float64(tile_max[t]) - np.float64(top))
        total += out[t]
    for t in range(out.shape[0]):
        out[t] /= total
