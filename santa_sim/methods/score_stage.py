"""The score stage of one sequence: all query heads in one pass over the keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.kernels.scores import head_scores
from santa_sim.kernels.ternary import ternary_scores
from santa_sim.methods import bernoulli_qk
from santa_sim.methods.spec import BernoulliScores, ExactScores


@dataclass(frozen=True)
class Scored:
    """scores: float32 [H, n]; digits: int32 [H, d], summed ternary digits (0 when exact)."""

    scores: NDArray[np.float32]
    digits: NDArray[np.int32]


def score_heads(
    scores: ExactScores | BernoulliScores,
    query: NDArray[np.float32],
    k: NDArray[Any],
    key: NDArray[np.uint32],
) -> Scored:
    """Return the scores of one sequence.

    scores: how to form them; query: float32 [H, d], times sm_scale; k: stored [n, KVH, d]; key:
    from `santa_sim.rng.stream_key`. A score beyond float32 is infinite or NaN.
    """
    digits = np.zeros(query.shape, np.int32)
    out = np.empty((len(query), len(k)), np.float32)
    if not isinstance(scores, BernoulliScores):
        head_scores(query, k, out)
        return Scored(out, digits)
    unit = np.empty((len(query), 1), np.float32)
    for head, row in enumerate(query):
        c = bernoulli_qk.digit_scale(row, scores.trials, scores.scale == "power_of_two")
        unit[head] = c / scores.trials
        if c > 0:
            bernoulli_qk.ternary_digits(row, c, key, head, scores.trials, digits[head])
    ternary_scores(digits, k, out)
    with np.errstate(over="ignore", invalid="ignore"):
        out *= unit
    return Scored(out, digits)
