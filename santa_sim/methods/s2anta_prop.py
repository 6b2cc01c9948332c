"""`s2anta_prop`: tile budgets proportional to tile mass by largest remainder, out = Σ rows / S.

As published (arXiv 2605.01910, section 3.4), for any number of tiles: quota_t = S·P_t, budget
⌊quota_t⌋ plus one for the largest fractions, systematic inside the tile. **Biased**: budgets are
a fixed function of the scores, so a tile that gets none is dropped and the others are rounded.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from santa_sim.methods.cdf import comb_rows, tile_masses
from santa_sim.rng import DRAWS, uniform


@njit(cache=True, nogil=True)
def largest_remainder(masses, samples, budgets):  # type: ignore[no-untyped-def]
    """Split S draws over tiles in proportion to their mass; ties go to the earlier tile.

    masses: float64 [T]; samples: S; budgets: int32 [T], overwritten, Σ = S, 0 without mass.
    """
    total = masses.sum()
    fraction = np.empty(masses.shape[0], np.float64)
    left = samples
    for t in range(masses.shape[0]):
        quota = samples * (masses[t] / total)
        budgets[t] = np.int32(np.floor(quota))
        # a tile without mass must never be handed a draw that rounding left over
        fraction[t] = quota - budgets[t] if masses[t] > 0 else -1.0
        left -= budgets[t]
    order = np.argsort(-fraction, kind="mergesort")
    for k in range(left):
        budgets[order[k]] += 1


@njit(cache=True, nogil=True)
def draw(mass, key, head, samples, tile, counts, budgets):  # type: ignore[no-untyped-def]
    """Count how often each row is drawn, and how many draws each tile gets.

    mass: float32 [n]; key, head: random stream; samples: S; tile: BN rows; counts: int32 [n],
    zeros on entry, Σ = S on return; budgets: int32 [T], overwritten, Σ = S.
    """
    n = mass.shape[0]
    masses = tile_masses(mass, tile)
    largest_remainder(masses, samples, budgets)
    for t in range(masses.shape[0]):
        if budgets[t] > 0:
            stop = min(n, (t + 1) * tile)
            offset = uniform(key, DRAWS, t, head, 0)
            comb_rows(mass[t * tile:stop], 0.0, budgets[t] / masses[t], offset, 0, budgets[t],
                      counts[t * tile:stop])
