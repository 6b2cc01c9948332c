"""`santa_iid`: S independent draws from the softmax with replacement, mean of the drawn rows.

Unbiased: E[count_i] = S·p_i (arXiv 2605.01910, section 3.1).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from santa_sim.rng import DRAWS, uniform


@njit(cache=True, nogil=True)
def draw(mass, key, head, samples, counts):  # type: ignore[no-untyped-def]
    """Count how often each row is drawn: the first row whose running mass exceeds u·Z.

    mass: float32 [n], unnormalised softmax weights; key, head: random stream (`santa_sim.rng`);
    samples: S; counts: int32 [n], zeros on entry, Σ = S on return.
    A row without mass does not raise the running mass, so it can never be the first above u·Z;
    u < 1 keeps u·Z below the total.
    """
    n = mass.shape[0]
    running = np.empty(n, np.float64)
    total = 0.0
    for i in range(n):
        total += np.float64(mass[i])
        running[i] = total
    for s in range(samples):
        threshold = uniform(key, DRAWS, 0, head, s) * total
        counts[np.searchsorted(running, threshold, side="right")] += 1
