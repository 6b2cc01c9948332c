"""`santa_systematic`: one offset a and S equally spaced points of the CDF.

count_i = ⌊a + S·C_i⌋ − ⌊a + S·C_{i−1}⌋, a ~ U[0, 1). Unbiased (arXiv 2605.01910, section 3.3).
"""

from __future__ import annotations

from numba import njit

from santa_sim.methods.cdf import comb_rows, total_mass
from santa_sim.rng import DRAWS, uniform


@njit(cache=True, nogil=True)
def draw(mass, key, head, samples, counts):  # type: ignore[no-untyped-def]
    """Count how often each row is drawn by a comb of S teeth over the whole sequence.

    mass: float32 [n]; key, head: random stream; samples: S; counts: int32 [n], zeros on entry,
    Σ = S on return.
    """
    total, _ = total_mass(mass)
    offset = uniform(key, DRAWS, 0, head, 0)
    comb_rows(mass, 0.0, samples / total, offset, 0, samples, counts)
