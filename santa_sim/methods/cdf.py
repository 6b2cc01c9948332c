"""Running masses and combs: the integer arithmetic that every systematic method shares.

A comb of S teeth with offset a over a mass Z gives row i the draws
count_i = ⌊a + S·C_i⌋ − ⌊a + S·C_{i−1}⌋, C the CDF. All sums run in float64 in row order.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_CHUNK = 16
"""Rows whose mass is added up before asking whether a tooth falls among them: most often none."""


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
    n = mass.shape[0]
    running, next_tooth = before, drawn + 1.0
    for start in range(0, n, _CHUNK):
        stop = min(n, start + _CHUNK)
        ahead = running
        for i in range(np.uint64(start), np.uint64(stop)):
            ahead += np.float64(mass[i])
        # the same additions as below, and rounding keeps order: no row of the chunk gets further
        if offset + ahead * teeth_per_mass < next_tooth:
            running = ahead
            continue
        for i in range(start, stop):
            running += np.float64(mass[i])
            reached = offset + running * teeth_per_mass
            if reached >= next_tooth and mass[i] > 0:
                level = min(np.int64(reached), budget)
                counts[i] += level - drawn
                drawn = level
                if drawn == budget:
                    return drawn
                next_tooth = drawn + 1.0
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
    """Return the float64 [T] masses of tiles of `tile` rows, T = ⌈n/tile⌉, each in row order.

    mass: float32 [n].
    """
    n = mass.shape[0]
    out = np.empty((n + tile - 1) // tile, np.float64)
    whole = n // tile
    # four tiles side by side: each sum waits for its last addition, so one alone is slow
    for t in range(0, whole - 3, 4):
        a = b = c = d = 0.0
        for i in range(np.uint64(t * tile), np.uint64((t + 1) * tile)):
            a += np.float64(mass[i])
            b += np.float64(mass[i + np.uint64(tile)])
            c += np.float64(mass[i + np.uint64(2 * tile)])
            d += np.float64(mass[i + np.uint64(3 * tile)])
        out[t], out[t + 1], out[t + 2], out[t + 3] = a, b, c, d
    for t in range(whole - whole % 4, out.shape[0]):
        a = 0.0
        for i in range(t * tile, min(n, (t + 1) * tile)):
            a += np.float64(mass[i])
        out[t] = a
    return out
