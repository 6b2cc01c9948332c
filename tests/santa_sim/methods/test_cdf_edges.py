"""Thresholds that meet an edge of the CDF exactly, which random scores never show."""

import numpy as np
import pytest

from santa_sim.methods import (
    s2anta_comb,
    s2anta_flash,
    s2anta_prop,
    santa_iid,
    santa_stratified,
    santa_systematic,
)
from santa_sim.methods.cdf import comb_rows, running_masses, tile_masses, total_mass
from santa_sim.methods.reference import at_thresholds, comb
from santa_sim.rng import DRAWS, stream_key, uniform

THRESHOLDS = {"santa_iid": santa_iid.draw, "santa_stratified": santa_stratified.draw}
COMBS = {
    "santa_systematic": lambda mass, key, counts: santa_systematic.draw(mass, key, 0, 1, counts),
    "s2anta_comb": lambda mass, key, counts: s2anta_comb.draw(
        mass, key, 0, 1, 2, counts, np.empty(3, np.int32)
    ),
    "s2anta_prop": lambda mass, key, counts: s2anta_prop.draw(
        mass, key, 0, 1, 6, counts, np.empty(1, np.int32)
    ),
    "s2anta_flash": lambda mass, key, counts: s2anta_flash.draw(
        mass, key, 0, 1, 6, counts, np.empty(1)
    ),
}


def first_uniform(seed):
    key = stream_key(seed, 0, 0, 0)
    return key, uniform(key, DRAWS, 0, 0, 0)


@pytest.mark.parametrize("name", THRESHOLDS)
def test_a_threshold_on_an_edge_belongs_to_the_next_row_with_mass(name):
    # the row owns [C_{i−1}, C_i): masses u, 0, …, 1 − u sum to 1 exactly and S = 1
    for seed in range(20):
        key, u = first_uniform(seed)
        mass = np.array([u, 0, 0, 0, 1 - u, 0], np.float32)
        counts = np.zeros(6, np.int32)
        THRESHOLDS[name](mass, key, 0, 1, counts)
        assert counts.tolist() == [0, 0, 0, 0, 1, 0]
        assert at_thresholds(mass.astype(np.float64), np.array([u])).tolist() == counts.tolist()


@pytest.mark.parametrize("name", COMBS)
def test_a_tooth_on_an_edge_belongs_to_the_row_that_ends_there(name):
    # count_i = ⌊a + C_i⌋ − ⌊a + C_{i−1}⌋ with C_1 = 1 − a
    for seed in range(20):
        key, a = first_uniform(seed)
        mass = np.array([0, 1 - a, 0, 0, a, 0], np.float32)
        counts = np.zeros(6, np.int32)
        COMBS[name](mass, key, counts)
        assert counts.tolist() == [0, 1, 0, 0, 0, 0]
        assert comb(mass.astype(np.float64), 1, a).tolist() == counts.tolist()


def test_the_last_tooth_of_a_comb_without_offset_falls_to_the_last_row_with_mass():
    # Σ mass · (S/Z) may round to just below S: with a = 0 the S-th tooth then has no row of its own
    rng = np.random.default_rng(2)
    missed = 0
    for samples in range(1, 300):
        mass = np.append(rng.random(7), [0.0, 0.0]).astype(np.float32)
        total, last = total_mass(mass)
        missed += total * (samples / total) < samples
        counts = np.zeros(9, np.int32)
        assert comb_rows(mass, 0.0, samples / total, 0.0, 0, samples, counts) == samples
        assert counts.sum() == samples
        assert last == 6
        assert not counts[7:].any()
    assert missed > 10


def test_masses_add_up():
    mass = np.array([0.5, 0, 0.25, 1, 0, 0, 2, 0], np.float32)
    assert total_mass(mass) == (3.75, 6)
    assert total_mass(np.zeros(3, np.float32)) == (0.0, -1)
    assert tile_masses(mass, 3).tolist() == [0.75, 1.0, 2.0]
    assert running_masses(mass, 3).tolist() == [0.75, 1.75, 3.75]
