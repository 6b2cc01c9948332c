"""The expected level: what a method spends on average, in closed form from the scores.

No sampling. Inclusion of row i in one head's draws: iid 1 − (1 − p)^S; systematic and comb
min(1, S·p); strata by their covered parts; Flash and Prop the same within a tile with the tile's
budget. Union over a KV group: 1 − Π_g (1 − incl_g) for own offsets, the measure of the union of
the heads' stretches for shared ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Dtype, Ledger
from santa_sim.kernels.scores import group_scores
from santa_sim.methods.bernoulli_qk import digit_scale
from santa_sim.methods.checks import check_scores, checked_inputs
from santa_sim.methods.counting import Tally, count_group
from santa_sim.methods.facts import GroupFacts, uniforms_made
from santa_sim.methods.group import max_rises, tile_maxima
from santa_sim.methods.inclusion import (
    COMB,
    IID,
    STRATA,
    add_binomial,
    multiplicities,
    union_rows,
)
from santa_sim.methods.s2anta_flash import tile_budget
from santa_sim.methods.s2anta_prop import largest_remainder
from santa_sim.methods.spec import BernoulliScores, requested_samples, scores_of, value_stage
from santa_sim.storage import as_stored, dtype_of

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Expected:
    """Expectation of a call.

    ledger: counts rounded to whole numbers once, at the end. unique_rows: float64 [B, KVH], V rows
    read at least once per KV head. samples: rows drawn per query head, mean (n for dense values).
    """

    ledger: Ledger
    unique_rows: Float
    samples: float


def expect(
    method: Any,
    q: NDArray[np.float32],
    k: NDArray[Any],
    *,
    seq_lens: NDArray[np.int64] | None = None,
    sm_scale: float | None = None,
) -> Expected:
    """Return the expected ledger and unique rows of `decode` with the same arguments.

    Exact for exact scores. With `bernoulli_qk` scores the digits are exact too, and the drawn rows
    are those of the exact softmax: an approximation, since noisy scores are more peaked.
    Raises `ValueError` as `decode` does. Source: design of the closed forms from arXiv 2605.01910,
    section 3.
    """
    lens, scaled = checked_inputs(q, k, k, seq_lens, sm_scale)
    stored = as_stored(k)
    kv_heads = k.shape[2]
    group_size = q.shape[1] // kv_heads
    tally = Tally()
    unique = np.zeros((q.shape[0], kv_heads))
    samples = np.zeros((q.shape[0], kv_heads))
    for b, n in enumerate(lens):
        for h in range(kv_heads if n else 0):
            query = scaled[b, h * group_size:(h + 1) * group_size]
            scores = np.empty((group_size, n), np.float32)
            group_scores(query, stored[b, :n, h], scores)
            check_scores(scores, stored[b, :n, h], b, h)
            facts = expected_facts(method, scores.astype(np.float64), query, dtype_of(k))
            count_group(method, facts, tally)
            dense = value_stage(method) == "dense"
            unique[b, h] = n if dense else facts.union_rows
            samples[b, h] = n if dense else facts.draws / group_size
    return Expected(tally.ledger(), unique, float(samples.mean()))


def expected_facts(
    spec: Any, scores: Float, query: NDArray[np.float32], dtype: Dtype
) -> GroupFacts:
    """Return the expected facts of one KV group.

    scores: [G, n], n > 0; query: float32 [G, d], times sm_scale; dtype: storage format of K and V.
    """
    known: dict[str, Any] = {
        "keys": scores.shape[1], "head_dim": query.shape[1], "heads": scores.shape[0],
        "dtype": dtype, **_digits(scores_of(spec), query),
    }
    stage = value_stage(spec)
    if stage == "dense":
        return GroupFacts(**known, max_rises=_rises(scores, spec.tile))
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    samples = requested_samples(spec)
    draws = samples * len(p)
    kind = {"santa_iid": IID, "santa_stratified": STRATA}.get(stage, COMB)
    won, combs = None, 0
    shared = spec.offsets == "shared"
    if stage in ("s2anta_flash", "s2anta_prop"):
        starts = np.arange(0, p.shape[1], spec.tile)
        masses = np.add.reduceat(p, starts, axis=1)
        if stage == "s2anta_flash":
            budgets = np.full(masses.shape, tile_budget(samples, len(starts)), np.int32)
            known["max_rises"] = _rises(scores, spec.tile)
            draws = int(budgets.sum())
        else:
            budgets = np.empty(masses.shape, np.int32)
            for g in range(len(p)):
                largest_remainder(masses[g], samples, budgets[g])
        lo, hi = _within_tiles(p, starts, budgets / np.maximum(masses, 1e-300))
        combs = int(((budgets > 0).any(axis=0) if shared else budgets > 0).sum())
        won = (budgets > 0).astype(np.float64)
    else:
        hi = np.cumsum(p, axis=1) * samples
        lo = hi - p * samples
        if stage == "s2anta_comb":
            starts = np.arange(0, p.shape[1], spec.tile)
            won = np.minimum(1.0, samples * np.add.reduceat(p, starts, axis=1))
    if won is not None:
        known.update(_won(won, p.shape[1], spec.tile))
    histogram = np.zeros(draws + 3)
    multiplicities(lo, hi, samples, kind, histogram)
    union = union_rows(lo, hi, samples, kind, shared)
    return GroupFacts(
        **known, draws=draws, union_rows=union,
        uniforms=uniforms_made(stage, samples, 1 if shared else len(p), combs),
        multiplicities={int(c): float(histogram[c]) for c in np.flatnonzero(histogram) if c > 0},
    )


def _rises(scores: Float, tile: int) -> int:
    return max_rises(tile_maxima(scores.astype(np.float32), tile))


def _within_tiles(
    p: Float, starts: NDArray[np.int64], teeth_per_mass: Float
) -> tuple[Float, Float]:
    """Return each row's stretch on its own tile's axis of teeth."""
    lengths = np.diff(np.append(starts, p.shape[1]))
    teeth = p * np.repeat(teeth_per_mass, lengths, axis=1)
    hi = np.concatenate([np.cumsum(part, axis=1) for part in np.split(teeth, starts[1:], axis=1)],
                        axis=1)
    return hi - teeth, hi


def _won(won: Float, keys: int, tile: int) -> dict[str, float]:
    missing = won.shape[1] * tile - keys
    tails = float(won[:, -1].sum()) if missing else 0.0
    return {
        "tiles_won": float(won.sum()), "tails_won": tails,
        "rows_in_won_tiles": float(won.sum()) * tile - tails * missing,
    }


def _digits(scores: Any, query: NDArray[np.float32]) -> dict[str, Any]:
    """Return expected digit multiplicities Binomial(R, |q_j|/c) and touched features."""
    if not isinstance(scores, BernoulliScores):
        return {}
    histogram = np.zeros(scores.trials + 1)
    untouched = np.ones(query.shape[1])
    for row in query:
        c = digit_scale(row, scores.trials, scores.scale == "power_of_two")
        share = np.abs(row.astype(np.float64)) / c if c > 0 else np.zeros(len(row))
        for chance in share[share > 0]:
            add_binomial(scores.trials, chance, histogram)
        untouched *= (1 - share) ** scores.trials
    return {
        "digits": {c: float(histogram[c]) for c in range(1, len(histogram)) if histogram[c] > 0},
        "features_union": math.fsum(1 - untouched),
    }
