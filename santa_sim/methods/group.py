"""One KV group of one sequence: scores, softmax weights, drawn rows and the output, with facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.scores import group_scores
from santa_sim.kernels.softmax import exp_shifted, row_max
from santa_sim.kernels.stored import kernel_view
from santa_sim.kernels.ternary import ternary_scores
from santa_sim.kernels.values import gather_rows_kernel, weighted_rows
from santa_sim.methods import (
    bernoulli_qk,
    s2anta_comb,
    s2anta_flash,
    s2anta_prop,
    santa_iid,
    santa_stratified,
    santa_systematic,
)
from santa_sim.methods.checks import check_scores
from santa_sim.methods.facts import GroupFacts, uniforms_made
from santa_sim.methods.spec import BernoulliScores, requested_samples, scores_of, value_stage
from santa_sim.storage import dtype_of

LOG2_E = 1.4426950408889634

_GLOBAL = {
    "santa_iid": santa_iid.draw,
    "santa_stratified": santa_stratified.draw,
    "santa_systematic": santa_systematic.draw,
}
_TILED = {"s2anta_comb": s2anta_comb.draw, "s2anta_prop": s2anta_prop.draw}


@dataclass(frozen=True)
class GroupResult:
    """out: float64 [G, d]; counts: int32 [G, n], how often each head drew each row, or None where
    every row is read (dense values); draws: int64 [G], rows asked for; facts: of this group.
    """

    out: NDArray[np.float64]
    counts: NDArray[np.int32] | None
    draws: NDArray[np.int64]
    facts: GroupFacts


@dataclass
class _Group:
    """What the two stages hand to one another."""

    query: NDArray[np.float32]
    k: NDArray[Any]
    v: NDArray[Any]
    key: NDArray[np.uint32]
    heads: NDArray[np.int64]
    place: tuple[int, int]


def run_group(
    spec: Any,
    query: NDArray[np.float32],
    k: NDArray[Any],
    v: NDArray[Any],
    key: NDArray[np.uint32],
    place: tuple[int, int],
) -> GroupResult:
    """Run one method on one KV head and its query heads.

    spec: a method; query: float32 [G, d], times sm_scale; k, v: stored [n, d], n > 0; key: from
    `santa_sim.rng.stream_key`; place: (sequence, KV head); the latter with G gives the query heads.
    Raises `ValueError` if a score is not finite.
    """
    heads = np.arange(query.shape[0]) + place[1] * query.shape[0]
    group = _Group(query, k, v, key, heads, place)
    scores, digits = _scores(scores_of(spec), group)
    check_scores(scores, k, *place)
    peak = np.empty(query.shape[0], np.float32)
    row_max(scores, peak)
    stage = value_stage(spec)
    known = {
        "keys": k.shape[0], "head_dim": query.shape[1], "heads": query.shape[0],
        "dtype": dtype_of(v), "features_union": int(np.any(digits != 0, axis=0).sum()),
        "digits": _histogram(np.abs(digits)),
    }
    if stage == "dense":
        return _dense(spec.tile, scores, peak, group, known)
    if stage == "s2anta_flash":
        return _flash(spec, scores, group, known)
    return _drawn(spec, stage, scores, peak, group, known)


def _scores(
    scores: Any, group: _Group
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return scores float32 [G, n] and the summed ternary digits int32 [G, d] (0 when exact)."""
    heads, d = group.query.shape
    digits = np.zeros((heads, d), np.int32)
    out = np.empty((heads, group.k.shape[0]), np.float32)
    if not isinstance(scores, BernoulliScores):
        group_scores(group.query, group.k, out)
        return out, digits
    unit = np.empty((heads, 1), np.float32)
    for g, head in enumerate(group.heads):
        c = bernoulli_qk.digit_scale(
            group.query[g], scores.trials, scores.scale == "power_of_two"
        )
        unit[g] = c / scores.trials
        if c > 0:
            bernoulli_qk.ternary_digits(
                group.query[g], c, group.key, head, scores.trials, digits[g]
            )
    ternary_scores(digits, group.k, out)
    with np.errstate(over="ignore", invalid="ignore"):  # `check_scores` says what went wrong
        out *= unit
    return out, digits


def _histogram(counts: NDArray[np.int32]) -> dict[int, float]:
    """Return c -> how many entries equal c, for c > 0."""
    totals = np.bincount(counts.ravel())
    return {int(c): int(totals[c]) for c in np.flatnonzero(totals) if c > 0}


def tile_maxima(scores: NDArray[np.float32], tile: int) -> NDArray[np.float32]:
    """Return the largest score of each tile: float32 [G, n] -> [G, T]."""
    starts = np.arange(0, scores.shape[1], tile)
    return np.maximum.reduceat(scores, starts, axis=1)


def max_rises(maxima: NDArray[np.float32]) -> int:
    """Count tiles after the first that raise ⌈m·log2 e⌉, the running maximum as a power of two."""
    level = np.maximum.accumulate(np.ceil(maxima.astype(np.float64) * LOG2_E), axis=1)
    return int((np.diff(level, axis=1) > 0).sum())


def _dense(
    tile: int, scores: NDArray[np.float32], peak: NDArray[np.float32], group: _Group,
    known: dict[str, Any],
) -> GroupResult:
    rises = max_rises(tile_maxima(scores, tile))
    exp_shifted(scores, peak, scores)
    out = np.empty(group.query.shape, np.float64)
    weighted_rows(scores, group.v, out)
    out /= scores.sum(axis=1, dtype=np.float64)[:, None]
    draws = np.full(len(group.heads), known["keys"], np.int64)
    return GroupResult(out, None, draws, GroupFacts(**known, max_rises=rises))


def _drawn(
    spec: Any, stage: str, scores: NDArray[np.float32], peak: NDArray[np.float32], group: _Group,
    known: dict[str, Any],
) -> GroupResult:
    """Methods whose output is the plain mean of S rows drawn from one global softmax."""
    exp_shifted(scores, peak, scores)
    samples = requested_samples(spec)
    counts = np.zeros(scores.shape, np.int32)
    tile = getattr(spec, "tile", known["keys"])
    tiles = -(-known["keys"] // tile)
    budgets = np.zeros((len(group.heads), tiles), np.int32)
    for g, head in enumerate(_streams(spec, group)):
        if stage in _TILED:
            _TILED[stage](scores[g], group.key, head, samples, tile, counts[g], budgets[g])
        else:
            _GLOBAL[stage](scores[g], group.key, head, samples, counts[g])
    weights = np.full((len(group.heads), 1), 1.0 / samples)
    out = np.empty(group.query.shape, np.float64)
    _gather(counts, known["keys"], weights, kernel_view(group.v), out)
    draws = np.full(len(group.heads), samples, np.int64)
    won = budgets > 0
    tails = int(won[:, -1].sum()) if known["keys"] % tile else 0
    missing = tiles * tile - known["keys"]
    shared = spec.offsets == "shared"
    combs = int((won.any(axis=0) if shared else won).sum())
    facts = GroupFacts(
        **known, draws=int(draws.sum()), multiplicities=_histogram(counts),
        union_rows=int((counts > 0).any(axis=0).sum()),
        uniforms=uniforms_made(stage, samples, 1 if shared else len(counts), combs),
        tiles_won=int(won.sum()),
        rows_in_won_tiles=int(won.sum()) * tile - tails * missing, tails_won=tails,
    )
    return GroupResult(out, counts, draws, facts)


def _flash(
    spec: Any, scores: NDArray[np.float32], group: _Group, known: dict[str, Any]
) -> GroupResult:
    """Every tile draws its share; tiles are merged by mass."""
    tile, n = spec.tile, known["keys"]
    maxima = tile_maxima(scores, tile)
    rises = max_rises(maxima)
    tiles = int(maxima.shape[1])
    budget = s2anta_flash.tile_budget(requested_samples(spec), tiles)
    counts = np.zeros(scores.shape, np.int32)
    weights = np.empty(maxima.shape, np.float64)
    for g, head in enumerate(_streams(spec, group)):
        _exp_by_tile(scores[g], maxima[g], tile)
        mass = np.empty(tiles, np.float64)
        s2anta_flash.draw(scores[g], group.key, head, budget, tile, counts[g], mass)
        s2anta_flash.merge_weights(maxima[g], mass, weights[g])
    weights /= budget
    streams = 1 if spec.offsets == "shared" else len(counts)
    out = np.empty(group.query.shape, np.float64)
    _gather(counts, tile, weights, kernel_view(group.v), out)
    draws = np.full(len(group.heads), tiles * budget, np.int64)
    facts = GroupFacts(
        **known, draws=int(draws.sum()), multiplicities=_histogram(counts),
        union_rows=int((counts > 0).any(axis=0).sum()), max_rises=rises,
        uniforms=uniforms_made("s2anta_flash", budget, streams, streams * tiles),
        tiles_won=len(counts) * tiles, rows_in_won_tiles=len(counts) * n,
    )
    return GroupResult(out, counts, draws, facts)


def _streams(spec: Any, group: _Group) -> list[int]:
    """Return the head index that keys each head's draws: its own, or the KV head's for all."""
    if spec.offsets == "shared":
        return [group.place[1]] * len(group.heads)
    return [int(head) for head in group.heads]


def _exp_by_tile(scores: NDArray[np.float32], maxima: NDArray[np.float32], tile: int) -> None:
    """Replace scores [n] by exp(s − m_t), each tile with its own maximum."""
    whole = len(scores) // tile
    body = scores[: whole * tile].reshape(whole, tile)
    exp_shifted(body, maxima[:whole], body)
    if whole < len(maxima):
        tail = scores[whole * tile:].reshape(1, -1)
        exp_shifted(tail, maxima[whole:], tail)


@njit(cache=True, nogil=True)
def _gather(counts, tile, weights, v, out):  # type: ignore[no-untyped-def]
    """out[g] = Σ_t weights[g, t] · Σ_{i in tile t} counts[g, i]·v[i], tiles of `tile` rows.

    counts: int32 [G, n]; weights: float64 [G, T]; v: `kernel_view` [n, d]; out: float64 [G, d].
    """
    heads, n = counts.shape
    rows = np.empty(n, np.int32)
    times = np.empty(n, np.int32)
    part = np.empty(out.shape[1], np.float64)
    for g in range(heads):
        out[g, :] = 0.0
        for t in range(weights.shape[1]):
            found = 0
            for i in range(t * tile, min(n, (t + 1) * tile)):
                if counts[g, i] > 0:
                    rows[found] = i
                    times[found] = counts[g, i]
                    found += 1
            if found > 0:
                gather_rows_kernel(rows[:found], times[:found], v, part)
                for j in range(part.shape[0]):
                    out[g, j] += weights[g, t] * part[j]
