"""One sequence, KV group by KV group: softmax weights, drawn rows and the output, with facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.kernels.drawn import Drawn, drawn_rows
from santa_sim.kernels.gather import gather_rows
from santa_sim.kernels.softmax import exp_shifted, tile_max
from santa_sim.kernels.values import weighted_rows
from santa_sim.methods import (
    s2anta_comb,
    s2anta_flash,
    s2anta_prop,
    santa_iid,
    santa_stratified,
    santa_systematic,
)
from santa_sim.methods.checks import check_scores
from santa_sim.methods.facts import GroupFacts, uniforms_made
from santa_sim.methods.score_stage import score_heads
from santa_sim.methods.spec import requested_samples, scores_of, value_stage
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
    """out: float64 [G, d]; drawn: the rows that each head drew, or None where every row is read
    (dense values); draws: int64 [G], rows asked for; facts: of this group.
    """

    out: NDArray[np.float64]
    drawn: Drawn | None
    draws: NDArray[np.int64]
    facts: GroupFacts


@dataclass
class _Group:
    """One KV head and its query heads. scores: float32 [G, n], turned into weights in place; v:
    stored [n, d]; key: random stream; heads: indices of the query heads; known: facts so far.
    """

    scores: NDArray[np.float32]
    v: NDArray[Any]
    key: NDArray[np.uint32]
    heads: range
    kv_head: int
    known: dict[str, Any]


def run_sequence(
    spec: Any,
    query: NDArray[np.float32],
    k: NDArray[Any],
    v: NDArray[Any],
    key: NDArray[np.uint32],
    batch: int,
) -> list[GroupResult]:
    """Run one method on one sequence; return one result per KV head.

    spec: a method; query: float32 [H, d], times sm_scale; k, v: stored [n, KVH, d], n > 0; key:
    from `santa_sim.rng.stream_key`; batch: index of the sequence, for messages.
    Raises `ValueError` if a score is not finite.
    """
    scored = score_heads(scores_of(spec), query, k, key)
    size = len(query) // k.shape[1]
    groups = []
    for h in range(k.shape[1]):
        own = slice(h * size, (h + 1) * size)
        digits = scored.digits[own]
        known = {
            "keys": len(k), "head_dim": query.shape[1], "heads": size, "dtype": dtype_of(v),
            "features_union": int(np.any(digits != 0, axis=0).sum()),
            "digits": _histogram(np.abs(digits)),
        }
        groups.append(
            _Group(scored.scores[own], v[:, h], key, range(own.start, own.stop), h, known)
        )
    stage = value_stage(spec)
    tile = getattr(spec, "tile", len(k))
    maxima = []
    for group in groups:
        top = np.empty((size, -(-len(k) // tile)), np.float32)
        if not tile_max(group.scores, tile, top):
            check_scores(group.scores, k[:, group.kv_head], batch, group.kv_head)
        maxima.append(top)
    if stage == "dense":
        return _dense(scored.scores, maxima, v, groups)
    if stage == "s2anta_flash":
        return [_flash(spec, top, group) for top, group in zip(maxima, groups, strict=True)]
    return [_drawn(spec, stage, top, group) for top, group in zip(maxima, groups, strict=True)]


def _histogram(counts: NDArray[np.int32]) -> dict[int, float]:
    """Return c -> how many entries equal c, for c > 0."""
    totals = np.bincount(counts.ravel())
    return {int(c): int(totals[c]) for c in np.flatnonzero(totals) if c > 0}


def tile_maxima(scores: NDArray[np.float32], tile: int) -> NDArray[np.float32]:
    """Return the largest score of each tile: float32 [G, n] -> [G, T]."""
    out = np.empty((len(scores), -(-scores.shape[1] // tile)), np.float32)
    tile_max(scores, tile, out)
    return out


def max_rises(maxima: NDArray[np.float32]) -> int:
    """Count tiles after the first that raise ⌈m·log2 e⌉, the running maximum as a power of two."""
    level = np.maximum.accumulate(np.ceil(maxima.astype(np.float64) * LOG2_E), axis=1)
    return int((np.diff(level, axis=1) > 0).sum())


def _dense(
    scores: NDArray[np.float32], maxima: list[NDArray[np.float32]], v: NDArray[Any],
    groups: list[_Group],
) -> list[GroupResult]:
    for top, group in zip(maxima, groups, strict=True):
        _weights(top, group)
    out = np.empty((len(scores), v.shape[2]), np.float64)
    weighted_rows(scores, v, out)
    out /= scores.sum(axis=1, dtype=np.float64)[:, None]
    return [
        GroupResult(
            out[group.heads.start : group.heads.stop], None,
            np.full(len(group.heads), len(v), np.int64),
            GroupFacts(**group.known, max_rises=max_rises(top)),
        )
        for top, group in zip(maxima, groups, strict=True)
    ]


def _weights(maxima: NDArray[np.float32], group: _Group) -> None:
    """Turn scores into exp(s − max s)."""
    exp_shifted(group.scores, group.known["keys"], maxima.max(axis=1, keepdims=True))


def _drawn(
    spec: Any, stage: str, maxima: NDArray[np.float32], group: _Group
) -> GroupResult:
    """Methods whose output is the plain mean of S rows drawn from one global softmax."""
    _weights(maxima, group)
    samples, known, mass = requested_samples(spec), group.known, group.scores
    counts = np.zeros(mass.shape, np.int32)
    tile = getattr(spec, "tile", known["keys"])
    tiles = maxima.shape[1]
    budgets = np.zeros(maxima.shape, np.int32)
    for g, head in enumerate(_streams(spec, group)):
        if stage in _TILED:
            _TILED[stage](mass[g], group.key, head, samples, tile, counts[g], budgets[g])
        else:
            _GLOBAL[stage](mass[g], group.key, head, samples, counts[g])
    drawn = drawn_rows(counts, samples)
    out = np.empty((len(counts), known["head_dim"]), np.float64)
    gather_rows(drawn, known["keys"], np.full((len(counts), 1), 1.0 / samples), group.v, out)
    draws = np.full(len(counts), samples, np.int64)
    won = budgets > 0
    tails = int(won[:, -1].sum()) if known["keys"] % tile else 0
    missing = tiles * tile - known["keys"]
    shared = spec.offsets == "shared"
    combs = int((won.any(axis=0) if shared else won).sum())
    facts = GroupFacts(
        **known, draws=int(draws.sum()), multiplicities=_histogram(drawn.counts),
        union_rows=drawn.union,
        uniforms=uniforms_made(stage, samples, 1 if shared else len(counts), combs),
        tiles_won=int(won.sum()),
        rows_in_won_tiles=int(won.sum()) * tile - tails * missing, tails_won=tails,
    )
    return GroupResult(out, drawn, draws, facts)


def _flash(spec: Any, maxima: NDArray[np.float32], group: _Group) -> GroupResult:
    """Every tile draws its share; tiles are merged by mass."""
    tile, known, mass = spec.tile, group.known, group.scores
    exp_shifted(mass, tile, maxima)
    tiles = maxima.shape[1]
    budget = s2anta_flash.tile_budget(requested_samples(spec), tiles)
    counts = np.zeros(mass.shape, np.int32)
    weights = np.empty(maxima.shape, np.float64)
    of_tile = np.empty(tiles, np.float64)
    for g, head in enumerate(_streams(spec, group)):
        s2anta_flash.draw(mass[g], group.key, head, budget, tile, counts[g], of_tile)
        s2anta_flash.merge_weights(maxima[g], of_tile, weights[g])
    weights /= budget
    streams = 1 if spec.offsets == "shared" else len(counts)
    drawn = drawn_rows(counts, tiles * budget)
    out = np.empty((len(counts), known["head_dim"]), np.float64)
    gather_rows(drawn, tile, weights, group.v, out)
    draws = np.full(len(counts), tiles * budget, np.int64)
    facts = GroupFacts(
        **known, draws=int(draws.sum()), multiplicities=_histogram(drawn.counts),
        union_rows=drawn.union, max_rises=max_rises(maxima),
        uniforms=uniforms_made("s2anta_flash", budget, streams, streams * tiles),
        tiles_won=len(counts) * tiles, rows_in_won_tiles=len(counts) * known["keys"],
    )
    return GroupResult(out, drawn, draws, facts)


def _streams(spec: Any, group: _Group) -> list[int]:
    """Return the head index that keys each head's draws: its own, or the KV head's for all."""
    return [group.kv_head] * len(group.heads) if spec.offsets == "shared" else list(group.heads)
