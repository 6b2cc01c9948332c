"""How many seeds a sampled point takes, and the interval that it may state after looking often.

An interval that is looked at until it is narrow enough errs more often than its confidence says:
the stop favours samples that happen to scatter little. Here the looks are few and fixed in advance,
and each gets an equal share of the risk, so that whenever one stops, the probability that its
interval misses the mean is at most 1 − `CONFIDENCE` (Bonferroni; for means of seeds that are near
enough to normal for Student's t).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from santa_sim.study.spec import Seeds

CONFIDENCE = 0.95

Float = NDArray[np.float64]


def looks(seeds: Seeds) -> tuple[int, ...]:
    """Return after how many seeds the interval is looked at: `count`, then twice as many each time.

    The last look is at `at_most`; without a precision there is one look, at `count`.
    """
    if seeds.precision is None:
        return (seeds.count,)
    found = [seeds.count]
    while found[-1] < seeds.cap:
        found.append(min(2 * found[-1], seeds.cap))
    return tuple(found)


def half_width(values: Float, confidence: float = CONFIDENCE) -> float:
    """Return half the confidence interval of a mean: t(1/2 + confidence/2, N−1)·s/√N.

    NaN for one value.
    """
    if len(values) < 2:
        return math.nan
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, 0.5 + confidence / 2))
    return quantile * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def estimate_mean(draw: Callable[[int], float], seeds: Seeds) -> tuple[Float, float]:
    """Draw until the mean is known as well as `seeds` asks, or to its cap.

    draw: value of the i-th seed, i = 0, 1, …. Returns all values and half the interval of their
    mean, at `CONFIDENCE` for the whole procedure. Known well: half ≤ precision × |mean|.
    """
    values: list[float] = []
    half = math.nan
    plan = looks(seeds)
    confidence = 1 - (1 - CONFIDENCE) / len(plan)
    for upto in plan:
        values.extend(draw(i) for i in range(len(values), upto))
        array = np.array(values)
        half = half_width(array, confidence)
        if seeds.precision is not None and is_precise(float(array.mean()), half, seeds):
            break
    return np.array(values), half


def is_precise(mean: float, half: float, seeds: Seeds) -> bool:
    """Return whether an interval is as narrow as the study asks; True where it asks nothing."""
    if seeds.precision is None or math.isnan(mean):  # the expected level has no error
        return True
    return half <= seeds.precision * abs(mean)
