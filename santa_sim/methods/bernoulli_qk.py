"""`bernoulli_qk`: the query as an average of R random ternary vectors, so scores need only adds.

c = max_j |q_j|; t_j ∈ {−1, 0, 1} with P(t_j ≠ 0) = |q_j|/c and the sign of q_j;
ŝ = (c/R) Σ_r Σ_j t_j^(r) K_j. E[ŝ] = q·K, but exp is convex: exp(ŝ), the softmax and the output
are biased (Jensen). arXiv 2605.01910, section 4.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.rng import TERNARY, uniform


def digit_scale(query: NDArray[np.float32], trials: int, power_of_two: bool) -> float:
    """Return c, the magnitude that one ternary digit stands for.

    query: float32 [d], already multiplied by sm_scale; trials: R. c = max_j |q_j|, or with
    `power_of_two` the next c above it for which c/R is a power of two. 0 for a zero query.
    """
    top = float(np.max(np.abs(query))) if query.size else 0.0
    if top == 0.0 or not power_of_two:
        return top
    mantissa, exponent = math.frexp(top / trials)
    return trials * math.ldexp(1.0, exponent - 1 if mantissa == 0.5 else exponent)


@njit(cache=True, nogil=True)
def ternary_digits(query, c, key, head, trials, multiplicity):  # type: ignore[no-untyped-def]
    """Sum R ternary digits per feature: multiplicity_j = Σ_r t_j^(r).

    query: float32 [d]; c: digit scale; key, head: random stream; trials: R; multiplicity: int32
    [d], overwritten. Digit (r, j) uses draw r·d + j. All digits of a feature share q_j's sign, so
    |multiplicity_j| ~ Binomial(R, |q_j|/c).
    """
    d = query.shape[0]
    for j in range(d):
        multiplicity[j] = 0
        if query[j] == 0.0:
            continue
        share = abs(np.float64(query[j])) / c
        hits = 0
        for r in range(trials):
            if uniform(key, TERNARY, 0, head, r * d + j) < share:
                hits += 1
        multiplicity[j] = hits if query[j] > 0 else -hits
