"""Running masses and combs: the integer arithmetic that every systematic method shares.

A comb of S teeth with offset a over a mass Z gives row i the draws
count_i = ⌊a + S·C_i⌋ − ⌊a + S·C_{i−1}⌋, C the CDF. All sums run in float64 in row order.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def total_mass(mass):  # type: ignore[no-untyped-def]
    """Return (Σ mass in float64, the last index with mass > 0, or −1 without any).

    mass: float32 [n].
    """
    total = 0.0
    for i in range(mass.shape[0]):
        total += np.float64(mass[i])
    return total, last_with_mass(mass)


@njit(cache=True, nogil=True)
def last_with_mass(mass):  # type: ignore[no-untyped-def]
    """Return the last index with mass > 0, or −1 without any; mass: float32 [n]."""
    last = mass.shape[0] - 1
    while last >= 0 and not mass[last] > 0:
        last -= 1
    return last


@njit(cache=True, nogil=True)
def comb_rows(mass, before, teeth_per_mass, offset, drawn, budget, counts):  # type: ignore[no-untyped-def]
    """Give the rows of one stretch their teeth and return how many teeth lie before its end.

    mass: float32 [m], the stretch; before: mass ahead of it; teeth_per_mass: S/Z; offset: a;
    drawn: teeth spent ahead of it; budget: teeth up to its end; counts: int32 [m], added to.
    Rounding can leave the running value a hair under a tooth at the end of the stretch: what is
    missing from the budget goes to the stretch's last row with mass, never past it.
    """
    running = before
    for i in range(mass.shape[0]):
        running += np.float64(mass[i])
        reached = offset + running * teeth_per_mass
        if reached >= drawn + 1 and mass[i] > 0:
            level = min(np.int64(reached), budget)
            counts[i] += level - drawn
            drawn = level
    if drawn < budget:
        last = last_with_mass(mass)
        if last >= 0:
            counts[last] += budget - drawn
            drawn = budget
    return drawn


@njit(cache=True, nogil=True)
def running_masses(mass, tile):  # type: ignore[no-untyped-def]
    """Return the float64 [T] masses from the first row to the end of each tile, in row order.

    mass: float32 [n]. The same additions as `total_mass` and a comb over all rows make, so the
    combs of tiles meet at the same numbers to the last bit.
    """
    n = mass.shape[0]
    out = np.zeros((n + tile - 1) // tile, np.float64)
    running = 0.0
    for t in range(out.shape[0]):
        for i in range(t * tile, min(n, (t + 1) * tile)):
            running += np.float64(mass[i])
        out[t] = running
    return out


@njit(cache=True, nogil=True)
def tile_masses(mass, tile):  # type: ignore[no-untyped-def]
    """Return the float64 [T] masses of tiles of `tile` rows, T = ⌈n/tile⌉.

    mass: float32 [n].
    """
    n = mass.shape[0]
    out = np.zeros((n + tile - 1) // tile, np.float64)
    for t in range(out.shape[0]):
        for i in range(t * tile, min(n, (t + 1) * tile)):
            out[t] += np.float64(mass[i])
    return out
