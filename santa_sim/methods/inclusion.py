"""Closed forms for drawn rows: expected unions over a KV group, and multiplicities per head.

Every method that draws along a CDF is described by the stretch (lo, hi] that row i covers on an
axis of S teeth: lo = S·C_{i−1}, hi = S·C_i, within a tile where the method restarts per tile.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

COMB, STRATA, IID = 0, 1, 2
"""How teeth are placed on the axis: one offset for all, one uniform per tooth, independent."""


@njit(cache=True, nogil=True)
def hit_probability(lo, hi, teeth, kind):  # type: ignore[no-untyped-def]
    """Return P(at least one draw falls into the union of the stretches (lo_g, hi_g]).

    lo, hi: float64 [G], lo ascending is not required; teeth: S.
    COMB: length of the union modulo 1. STRATA: 1 − Π over strata of (1 − covered part).
    IID: 1 − (1 − |union|/S)^S.
    """
    if kind == COMB:
        return _covered_circle(lo, hi)
    order = np.argsort(lo)
    miss, covered, stratum = 1.0, 0.0, -1.0
    total, end = 0.0, -1.0
    for k in range(order.shape[0]):
        start, stop = max(lo[order[k]], end), hi[order[k]]
        if stop <= start:
            continue
        end = stop
        total += stop - start
        while kind == STRATA and start < stop:
            here = math.floor(start)
            if here != stratum:
                miss *= 1.0 - min(covered, 1.0)
                covered, stratum = 0.0, here
            upto = min(stop, here + 1.0)
            covered += upto - start
            start = upto
    if kind == STRATA:
        return 1.0 - miss * (1.0 - min(covered, 1.0))
    share = min(total / teeth, 1.0)
    return 1.0 - (1.0 - share) ** teeth


@njit(cache=True, nogil=True)
def _covered_circle(lo, hi):  # type: ignore[no-untyped-def]
    """Return the length of the union of arcs (lo_g, hi_g] modulo 1."""
    starts = np.empty(2 * lo.shape[0])
    stops = np.empty(2 * lo.shape[0])
    pieces = 0
    for g in range(lo.shape[0]):
        length = hi[g] - lo[g]
        if length <= 0.0:
            continue
        if length >= 1.0:
            return 1.0
        start = lo[g] - math.floor(lo[g])
        starts[pieces], stops[pieces] = start, min(start + length, 1.0)
        pieces += 1
        if start + length > 1.0:
            starts[pieces], stops[pieces] = 0.0, start + length - 1.0
            pieces += 1
    order = np.argsort(starts[:pieces])
    covered, end = 0.0, 0.0
    for k in range(pieces):
        start, stop = max(starts[order[k]], end), stops[order[k]]
        if stop > start:
            covered += stop - start
            end = stop
    return covered


@njit(cache=True, nogil=True)
def union_rows(lo, hi, teeth, kind, shared):  # type: ignore[no-untyped-def]
    """Return the expected number of rows that at least one of the G heads draws.

    lo, hi: float64 [G, n]. shared: one set of draws for all heads (union of the stretches), else
    independent draws: Σ_i 1 − Π_g (1 − P_g,i).
    """
    heads, n = lo.shape
    expected = 0.0
    for i in range(n):
        if shared:
            expected += hit_probability(lo[:, i], hi[:, i], teeth, kind)
            continue
        miss = 1.0
        for g in range(heads):
            miss *= 1.0 - hit_probability(lo[g, i:i + 1], hi[g, i:i + 1], teeth, kind)
        expected += 1.0 - miss
    return expected


@njit(cache=True, nogil=True)
def multiplicities(lo, hi, teeth, kind, out):  # type: ignore[no-untyped-def]
    """Add to out[c] the expected number of (head, row) pairs drawn exactly c times.

    lo, hi: float64 [G, n]; out: float64 [S + 2].
    COMB: ⌊x⌋ or ⌊x⌋ + 1 for x = hi − lo. STRATA: whole strata plus two chances at the ends.
    IID: binomial(S, x/S).
    """
    for g in range(lo.shape[0]):
        for i in range(lo.shape[1]):
            x = hi[g, i] - lo[g, i]
            if x <= 0.0:
                continue
            if kind == IID:
                add_binomial(teeth, x / teeth, out)
            elif kind == COMB or math.floor(lo[g, i]) == math.floor(hi[g, i]):
                whole = min(int(x), teeth)
                out[whole] += 1.0 - (x - whole)
                out[whole + 1] += x - whole
            else:
                first = math.floor(lo[g, i]) + 1.0 - lo[g, i]
                second = hi[g, i] - math.floor(hi[g, i])
                whole = int(math.floor(hi[g, i]) - math.floor(lo[g, i])) - 1
                out[whole] += (1.0 - first) * (1.0 - second)
                out[whole + 1] += first * (1.0 - second) + second * (1.0 - first)
                if first * second > 0.0:
                    out[whole + 2] += first * second


@njit(cache=True, nogil=True)
def add_binomial(trials, chance, out):  # type: ignore[no-untyped-def]
    """Add the probabilities of Binomial(trials, chance) to out[0 .. trials].

    Terms more than 12 standard deviations (and 12 counts) from the mean, below 1e-30 together,
    are left out.
    """
    if chance >= 1.0:
        out[trials] += 1.0
        return
    mean = trials * chance
    reach = 12.0 * math.sqrt(mean * (1.0 - chance)) + 12.0
    c = max(0, int(mean - reach))
    term = math.exp(
        math.lgamma(trials + 1.0) - math.lgamma(c + 1.0) - math.lgamma(trials - c + 1.0)
        + c * math.log(chance) + (trials - c) * math.log1p(-chance)
    )
    while c <= trials and c <= mean + reach:
        out[c] += term
        term *= (trials - c) / (c + 1.0) * (chance / (1.0 - chance))
        c += 1
