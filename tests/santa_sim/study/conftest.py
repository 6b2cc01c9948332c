from pathlib import Path

import pytest

SMALL = """\
name: small
title: A small study
question: How much?
seeds: {count: 3}
data:
  - kind: capture
    capture: smollm2-135m
    traces: [t3]
    steps: [0, 2]
  - kind: synthetic
    geometry: smollm2-135m
    law: {kind: zipf}
    effective_support: 40
    context: 300
methods:
  - name: dense
  - name: s2anta_comb
    grid:
      samples: [32, 64]
  - name: s2anta_comb
    samples: 64
    scores: {name: bernoulli_qk, trials: 16, scale: power_of_two}
accelerators:
  - edge_ternary_7nm_lpddr5
  - h200_sxm
"""


@pytest.fixture
def small_text() -> str:
    return SMALL


@pytest.fixture
def small_study(tmp_path, small_text) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(small_text, encoding="utf-8")
    return path
