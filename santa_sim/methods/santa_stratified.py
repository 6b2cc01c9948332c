"""`santa_stratified`: one uniform draw in each stratum [s/S, (s+1)/S) of the CDF.

Unbiased, and never of larger variance than `santa_iid` (arXiv 2605.01910, section 3.2).
"""

from __future__ import annotations

from numba import njit

from santa_sim.methods.cdf import total_mass
from santa_sim.rng import DRAWS, uniform


@njit(cache=True, nogil=True)
def draw(mass, key, head, samples, counts):  # type: ignore[no-untyped-def]
    """Count how often each row is drawn: thresholds (s + u_s)·Z/S meet the running mass in order.

    mass: float32 [n]; key, head: random stream; samples: S; counts: int32 [n], zeros on entry,
    Σ = S on return.
    """
    n = mass.shape[0]
    total, last = total_mass(mass)
    step = total / samples
    drawn = 0
    threshold = uniform(key, DRAWS, 0, head, 0) * step
    running = 0.0
    for i in range(n):
        running += mass[i]
        while drawn < samples and threshold < running:
            counts[i] += 1
            drawn += 1
            threshold = (drawn + uniform(key, DRAWS, 0, head, drawn)) * step
        if drawn == samples:
            return
    # rounding may leave the last threshold at or above the total: it belongs to the last mass
    counts[last] += samples - drawn
