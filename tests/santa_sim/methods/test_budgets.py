"""How many rows each head and each tile gets, and that none with mass is left out."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_cases import SAMPLED, capture_step, random_inputs, run, sampled, softmax_of

from santa_sim.methods import UNBIASED, decode
from santa_sim.methods.s2anta_flash import tile_budget
from santa_sim.methods.s2anta_prop import largest_remainder

MEAN_OVER_S = [name for name in SAMPLED if name != "s2anta_flash"]


def counts_of(got, head, n, batch=0):
    rows, times = got.rows.of(batch, head)
    counts = np.zeros(n, np.int64)
    counts[rows] = times
    return counts


@pytest.mark.parametrize("name", MEAN_OVER_S)
@pytest.mark.parametrize("offsets", ["own", "shared"])
@pytest.mark.parametrize("samples", [1, 63, 64, 4000])
def test_every_head_draws_exactly_s_rows(name, offsets, samples):
    step = capture_step("t3")
    got = run(sampled(name, samples, offsets=offsets), step, seed=2)
    assert (got.effective_samples == samples).all()
    for head in range(9):
        rows, times = got.rows.of(0, head)
        assert times.sum() == samples
        assert (times > 0).all()
        assert (np.diff(rows) > 0).all()


@pytest.mark.parametrize(
    ("samples", "tile", "effective"),
    [(1, 64, 32), (63, 64, 32), (64, 64, 64), (100, 64, 96), (100, 48, 86), (8, 4096, 8)],
)
def test_flash_reports_its_effective_budget(samples, tile, effective):
    # n = 2048: T·max(1, ⌊S/T⌋) with T = 32, 43 and 1
    got = run(sampled("s2anta_flash", samples, tile), capture_step("t3"))
    assert (got.effective_samples == effective).all()
    for head in range(9):
        counts = counts_of(got, head, 2048)
        tiles = np.add.reduceat(counts, np.arange(0, 2048, tile))
        assert (tiles == effective // len(tiles)).all()


@pytest.mark.parametrize(
    ("samples", "tiles", "budget"), [(0, 3, 1), (5, 3, 1), (6, 3, 2), (7, 1, 7), (9, 0, 0)]
)
def test_tile_budget(samples, tiles, budget):
    assert tile_budget(samples, tiles) == budget


@pytest.mark.parametrize("name", sorted(UNBIASED - {"dense"}))
def test_every_row_can_be_drawn_the_newest_included(name):
    # 43 rows in six tiles of 8, the last one of 3. S = 20 draws include a row of p > 0.0025 with
    # probability >= 1 − (1 − p)^20 > 0.048 (Flash with three draws per tile: as much, since a tile
    # holds less mass); 2000 streams all miss one of 86 rows with probability < 86·0.952^2000, 1e-40
    q, k, v = random_inputs(30, heads=2, kv_heads=1, n=43, d=4)
    assert min(softmax_of(q[0, h], k[0, :, 0], 0.125).min() for h in range(2)) > 0.0025
    rows = [np.broadcast_to(a, (500, *a.shape[1:])) for a in (q, k, v)]
    hits = np.zeros((2, 43), np.int64)
    for seed in range(4):
        got = decode(sampled(name, 20, tile=8), *rows, sm_scale=0.125, seed=seed)
        heads = np.repeat(np.tile(np.arange(2), 500), np.diff(got.rows.indptr))
        np.add.at(hits, (heads, got.rows.rows), 1)
    assert (hits > 0).all()


@pytest.mark.parametrize("tiles", [3, 5, 6, 7, 11])
def test_prop_draws_the_newest_tile_for_any_number_of_tiles(tiles):
    # all mass equal: quotas are S/T each, and with S = T every tile must get one
    q = np.zeros((1, 1, 4), np.float32)
    k = v = np.zeros((1, 8 * tiles, 1, 4), np.float32)
    got = decode(sampled("s2anta_prop", tiles, tile=8), q, k, v)
    counts = counts_of(got, 0, 8 * tiles).reshape(tiles, 8).sum(axis=1)
    assert counts.tolist() == [1] * tiles


def in_whole_numbers(masses, samples):
    """Hamilton's method on exact fractions: floors, then the largest remainders, earlier first."""
    total = sum(masses)
    quotas = [Fraction(samples * mass, total) for mass in masses]
    budgets = [math.floor(quota) for quota in quotas]
    while sum(budgets) < samples:
        rest = [quota - budget for quota, budget in zip(quotas, budgets, strict=True)]
        # a tile is topped up once at most: after that its remainder is negative
        budgets[rest.index(max(rest))] += 1
    return budgets


@given(st.lists(st.integers(0, 64), min_size=1, max_size=23).filter(any), st.integers(1, 300))
def test_largest_remainder_is_hamiltons_method(masses, samples):
    total = 1 << max(0, sum(masses) - 1).bit_length()
    masses = [*masses, total - sum(masses)]  # a power of two in total: quotas are exact in float64
    budgets = np.empty(len(masses), np.int32)
    largest_remainder(np.array(masses, np.float64), samples, budgets)
    assert budgets.tolist() == in_whole_numbers(masses, samples)


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=40).filter(any), st.integers(1, 10**6))
def test_largest_remainder_spends_all_and_gives_nothing_to_no_mass(masses, samples):
    masses = np.array(masses) / max(masses)
    budgets = np.empty(len(masses), np.int32)
    largest_remainder(masses, samples, budgets)
    assert budgets.sum() == samples
    assert (budgets >= 0).all()
    assert not budgets[masses == 0].any()
    # within one of the quota, up to the rounding of the quota itself
    quota = samples * (masses / masses.sum())
    assert (np.abs(budgets - quota) <= 1 + 1e-9 * samples).all()
