"""Closed forms of inclusion, unions and multiplicities against enumeration on small cases."""

import itertools
import math

import numpy as np
import pytest

from santa_sim.methods.inclusion import COMB, IID, STRATA, add_binomial, multiplicities, union_rows

P = np.array([[0.05, 0.4, 0.0, 0.3, 0.25], [0.2, 0.1, 0.35, 0.05, 0.3]])
"""Two heads, five rows; multiples of 1/20, so that offsets on a fine grid hit no edge."""
GRID = 400
KINDS = {"comb": COMB, "strata": STRATA, "iid": IID}


def stretches(p, samples):
    hi = np.cumsum(p, axis=1) * samples
    return hi - p * samples, hi


def rows_at(p, points):
    return np.searchsorted(np.cumsum(p), np.asarray(points), side="right").clip(max=len(p) - 1)


def comb_outcomes(p, samples):
    """Counts [GRID, n] for offsets in the middle of GRID equal parts of [0, 1): exact for P."""
    offsets = (np.arange(GRID) + 0.5) / GRID
    points = (np.arange(samples) + 1 - offsets[:, None]) / samples
    return np.array([np.bincount(rows_at(p, row), minlength=len(p)) for row in points])


def outcomes(p, samples, kind):
    """[(probability, counts)] of one head, by going through everything that can happen."""
    if kind == "comb":
        return [(1 / GRID, counts) for counts in comb_outcomes(p, samples)]
    if kind == "iid":
        per_draw = [list(enumerate(p))] * samples
    else:
        edges = np.concatenate([[0.0], np.cumsum(p)]) * samples
        per_draw = [
            list(enumerate(np.clip(np.minimum(edges[1:], s + 1) - np.maximum(edges[:-1], s), 0, 1)))
            for s in range(samples)
        ]
    found = []
    for draws in itertools.product(*per_draw):
        chance = math.prod(weight for _, weight in draws)
        found.append((chance, np.bincount([row for row, _ in draws], minlength=len(p))))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("samples", [1, 3, 5])
def test_multiplicities_are_those_of_every_outcome(kind, samples):
    expected = np.zeros(samples + 1)
    for p in P:
        for chance, counts in outcomes(p, samples, kind):
            expected += chance * np.bincount(counts, minlength=samples + 1)
    got = np.zeros(samples + 3)
    multiplicities(*stretches(P, samples), samples, KINDS[kind], got)
    np.testing.assert_allclose(got[1 : samples + 1], expected[1:], atol=1e-9)
    np.testing.assert_allclose(got[samples + 1 :], 0, atol=1e-9)
    # S draws in all
    assert got @ np.arange(samples + 3) == pytest.approx(2 * samples, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("samples", [1, 3, 5])
def test_union_of_one_head_is_the_inclusion_of_every_outcome(kind, samples):
    for p in P:
        expected = sum(
            chance * (counts > 0).sum() for chance, counts in outcomes(p, samples, kind)
        )
        got = union_rows(*stretches(p[None], samples), samples, KINDS[kind], False)
        assert got == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("samples", [1, 4, 30])
def test_inclusion_formulas(samples):
    for p in P:
        lo, hi = stretches(p[None], samples)
        systematic = union_rows(lo, hi, samples, COMB, False)
        assert systematic == pytest.approx(np.minimum(1, samples * p).sum(), abs=1e-12)
        iid = union_rows(lo, hi, samples, IID, False)
        assert iid == pytest.approx((1 - (1 - p) ** samples).sum(), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_union_over_heads_with_own_offsets_is_of_independent_events(kind):
    samples = 3
    included = [
        sum(chance * (counts > 0) for chance, counts in outcomes(p, samples, kind)) for p in P
    ]
    expected = (1 - (1 - included[0]) * (1 - included[1])).sum()
    got = union_rows(*stretches(P, samples), samples, KINDS[kind], False)
    assert got == pytest.approx(expected, abs=1e-9)


def test_union_over_heads_with_a_shared_comb():
    for samples in (1, 3, 5):
        pairs = zip(*(comb_outcomes(p, samples) for p in P), strict=True)
        expected = np.mean([((one > 0) | (two > 0)).sum() for one, two in pairs])
        got = union_rows(*stretches(P, samples), samples, COMB, True)
        assert got == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", ["strata", "iid"])
def test_union_over_heads_with_shared_uniforms(kind):
    # both heads read the same thresholds: enumerate the merged CDF, each piece a pair of rows
    samples = 3
    edges = np.unique(np.round(np.concatenate([[0.0], *np.cumsum(P, axis=1)]), 12))
    middles = (edges[1:] + edges[:-1]) / 2
    rows = np.array([rows_at(p, middles) for p in P])
    expected = 0.0
    for chance, counts in outcomes(np.diff(edges), samples, kind):
        expected += chance * len(set(rows[:, counts > 0].ravel()))
    # a row is counted once however many heads read it
    got = union_rows(*stretches(P, samples), samples, KINDS[kind], True)
    assert got == pytest.approx(expected, abs=1e-9)


def test_shared_offsets_of_equal_heads_read_one_head_and_own_offsets_more():
    for kind in KINDS.values():
        lo, hi = stretches(np.repeat(P[:1], 4, axis=0), 3)
        one = union_rows(lo[:1], hi[:1], 3, kind, False)
        assert union_rows(lo, hi, 3, kind, True) == pytest.approx(one, abs=1e-12)
        assert union_rows(lo, hi, 3, kind, False) > one


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.3), (7, 1.0), (20, 0.5), (400, 1e-4)])
def test_binomial_terms(trials, chance):
    got = np.zeros(trials + 1)
    add_binomial(trials, chance, got)
    expected = [
        math.comb(trials, c) * chance**c * (1 - chance) ** (trials - c) for c in range(trials + 1)
    ]
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-30)


def test_binomial_terms_that_are_left_out_are_negligible():
    got = np.zeros(2**16 + 1)
    add_binomial(2**16, 0.3, got)
    assert got.sum() == pytest.approx(1.0, abs=1e-9)
    assert got @ np.arange(got.size) == pytest.approx(0.3 * 2**16, rel=1e-9)
