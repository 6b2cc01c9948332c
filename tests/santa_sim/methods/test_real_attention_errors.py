"""Errors and rows read on real attention, against an independent implementation's means."""

import json

import numpy as np
import pytest
from method_cases import DATA, capture_step, exact_attention, run, sampled
from scipy.stats import t as student_t

ROWS = json.loads((DATA / "real_attention_expected.json").read_text(encoding="utf-8"))["rows"]
THEIR_SEEDS = 64
SEEDS = {"t0": 24, "t1": 24, "t3": 24, "t5": 24, "t8": 8}  # t8 is four times as long
FALSE_ALARM = 1e-3
# their standard errors come from 64 seeds and ours are theirs, scaled to our number of seeds: each
# difference of means over its standard error is Student's t with 63 degrees of freedom
BOUND = student_t.isf(FALSE_ALARM / (2 * 2 * len(ROWS)), THEIR_SEEDS - 1)
HALF_DIGIT = 0.5e-5
"""The file gives five decimals."""


def spec_of(row):
    name, _, variant = row["method"].partition("_tile")
    offsets = "shared" if name.endswith("_shared") else "own"
    tile = {"tile": int(variant)} if variant else {}
    return sampled(name.removesuffix("_shared"), row["S"], offsets=offsets, **tile)


def measured(trace, spec):
    step = capture_step(trace)
    exact = exact_attention(step.q, step.k, step.v, step.sm_scale)
    size = np.linalg.norm(exact, axis=-1)
    errors, fractions = [], []
    for seed in range(SEEDS[trace]):
        got = run(spec, step, seed=seed)
        errors.append((np.linalg.norm(got.out - exact, axis=-1) / size).mean())
        fractions.append(got.unique_rows.mean() / step.context)
    return np.mean(errors), np.mean(fractions)


@pytest.mark.parametrize("trace", SEEDS)
def test_errors_and_rows_read_are_those_of_an_independent_implementation(trace):
    # fails by chance with probability <= 1e-3 over all entries of the five traces
    widened = np.sqrt(1 + THEIR_SEEDS / SEEDS[trace])
    off = {}
    for row in (row for row in ROWS if row["trace"] == trace):
        means = measured(trace, spec_of(row))
        for name, mean in zip(("rel_error", "unique_row_fraction"), means, strict=True):
            difference = max(0.0, abs(mean - row[f"{name}_mean"]) - HALF_DIGIT)
            t = difference / (row[f"{name}_se"] * widened)
            if t > BOUND:
                off[row["method"], row["S"], name] = round(t, 1)
    assert off == {}


def test_every_sampled_method_has_an_entry():
    named = {spec_of(row).name for row in ROWS}
    assert named == {
        "santa_iid", "santa_stratified", "santa_systematic", "s2anta_flash", "s2anta_prop"
    }  # fmt: skip
