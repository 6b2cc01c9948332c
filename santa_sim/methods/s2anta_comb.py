"""`s2anta_comb`: tile budgets from one comb over the tiles, its fraction carried into the tile.

S_t = ⌊a + S·C_t⌋ − ⌊a + S·C_{t−1}⌋ over tile masses, then the same comb inside the tile: the rows
of `santa_systematic`, found with a scan over T tiles and a look into those tiles only that won a
draw. Needs no sort and no atomics. Unbiased.
"""

from __future__ import annotations

from numba import njit

from santa_sim.methods.cdf import comb_rows, last_with_mass, running_masses
from santa_sim.rng import DRAWS, uniform


@njit(cache=True, nogil=True)
def draw(mass, key, head, samples, tile, counts, budgets):  # type: ignore[no-untyped-def]
    """Count how often each row is drawn, and how many draws each tile wins.

    mass: float32 [n]; key, head: random stream; samples: S; tile: BN rows; counts: int32 [n],
    zeros on entry, Σ = S on return; budgets: int32 [T], overwritten, Σ = S.
    """
    n = mass.shape[0]
    reached = running_masses(mass, tile)
    last = last_with_mass(mass)
    teeth_per_mass = samples / reached[-1]
    offset = uniform(key, DRAWS, 0, head, 0)
    before, drawn = 0.0, 0
    for t in range(reached.shape[0]):
        upto = min(int(offset + reached[t] * teeth_per_mass), samples)
        if t >= last // tile:
            upto = samples
        budgets[t] = upto - drawn
        if upto > drawn:
            stop = min(n, (t + 1) * tile)
            comb_rows(mass[t * tile:stop], before, teeth_per_mass, offset, drawn, upto,
                      counts[t * tile:stop])
        drawn = upto
        before = reached[t]
