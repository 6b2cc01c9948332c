"""From facts to ledger: which operation and which byte each method spends, phase by phase.

One function per phase; both levels of fidelity use them, so they cannot disagree about what a
method is. Conventions: sm_scale is folded into the query projection, as served models do, and
costs nothing here; a fused multiply-add is one multiply and one add; products work in the storage
format, sums in fp32; the accumulator of a head stays on the unit that owns it; maxima are rounded
up to whole powers of two, so that rescaling by exp(m_t − m*) is a shift (Softermax, Stevens et
al., DAC 2021).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hw_models.ledger import (
    Direction,
    Dtype,
    Ledger,
    Level,
    OpKey,
    OpKind,
    Pattern,
    Phase,
    Segments,
    StreamKey,
    Tensor,
)
from santa_sim.methods.facts import GroupFacts
from santa_sim.methods.s2anta_flash import tile_budget
from santa_sim.methods.spec import (
    BernoulliScores,
    requested_samples,
    scores_of,
    value_stage,
)
from santa_sim.rng import UNIFORM_BITS

_WORD = Dtype.FP32.bytes
"""Bytes of a stashed score, a tile mass or a row index."""


class Tally:
    """Adds up (possibly fractional) counts and rounds once, to the nearest integer, at the end."""

    def __init__(self) -> None:
        self._ops: Counter[OpKey] = Counter()
        self._logical: Counter[StreamKey] = Counter()
        self._unique: Counter[StreamKey] = Counter()

    def op(
        self, phase: Phase, kind: OpKind, count: float, dtype: Dtype = Dtype.FP32,
        multiplicity: int = 1,
    ) -> None:
        """Add `count` operations."""
        self._ops[OpKey(phase, kind, dtype, multiplicity)] += count  # type: ignore[assignment]

    def main(
        self, phase: Phase, tensor: Tensor, direction: Direction, segment_bytes: int,
        logical: float, unique: float | None = None, pattern: Pattern = Pattern.STREAM,
    ) -> None:
        """Add segments that move to or from main memory."""
        key = StreamKey(phase, tensor, Level.MAIN, direction, pattern, segment_bytes)
        self._logical[key] += logical  # type: ignore[assignment]
        self._unique[key] += logical if unique is None else unique  # type: ignore[assignment]

    def scratch(
        self, phase: Phase, tensor: Tensor, direction: Direction, segment_bytes: int,
        segments: float, footprint_bytes: int, pattern: Pattern = Pattern.STREAM,
    ) -> None:
        """Add segments of a workspace tensor whose whole buffer has `footprint_bytes`."""
        key = StreamKey(
            phase, tensor, Level.SCRATCH, direction, pattern, segment_bytes, footprint_bytes
        )
        self._logical[key] += segments  # type: ignore[assignment]
        self._unique[key] += segments  # type: ignore[assignment]

    def ledger(self) -> Ledger:
        """Return what was added, rounded to whole counts."""
        return Ledger(
            {key: round(count) for key, count in self._ops.items()},
            {key: Segments(max(round(n), round(self._unique[key])), round(self._unique[key]))
             for key, n in self._logical.items()},
        )


def count_group(spec: Any, facts: GroupFacts, tally: Tally) -> None:
    """Add all that one KV group spends under `spec` to the tally.

    spec: a method (`santa_sim.methods.spec`); facts: of a group with at least one key.
    """
    _inputs_and_outputs(facts, tally)
    scores = scores_of(spec)
    if isinstance(scores, BernoulliScores):
        _ternary_scores(scores, facts, tally)
    else:
        _exact_scores(facts, tally)
    stage = value_stage(spec)
    _softmax(facts, tally)
    if stage == "dense":
        _dense_values(facts, tally)
        return
    samples = requested_samples(spec)
    if stage == "s2anta_flash":
        _flash_sampling(samples, spec.tile, facts, tally)
    elif stage in ("s2anta_comb", "s2anta_prop"):
        _tiled_sampling(stage, samples, spec.tile, facts, tally)
    else:
        _global_sampling(stage, samples, facts, tally)
    _gathered_values(facts, tally)
    _merge(stage, samples, facts, tally, getattr(spec, "tile", facts.keys))


def _inputs_and_outputs(f: GroupFacts, tally: Tally) -> None:
    row = f.head_dim * f.dtype.bytes
    tally.main(Phase.SCORE, Tensor.Q, Direction.READ, row, f.heads)
    tally.main(Phase.MERGE, Tensor.OUT, Direction.WRITE, row, f.heads)
    if f.dtype is not Dtype.FP32:
        tally.op(Phase.MERGE, OpKind.CONVERT, f.heads * f.head_dim)


def _exact_scores(f: GroupFacts, tally: Tally) -> None:
    products = f.heads * f.keys * f.head_dim
    tally.op(Phase.SCORE, OpKind.MULTIPLY, products, f.dtype)
    tally.op(Phase.SCORE, OpKind.ADD, products)
    tally.main(Phase.SCORE, Tensor.K, Direction.READ, f.keys * f.head_dim * f.dtype.bytes, 1)


def _ternary_scores(scores: BernoulliScores, f: GroupFacts, tally: Tally) -> None:
    features = f.heads * f.head_dim
    digits = features * scores.trials
    tally.op(Phase.SCORE, OpKind.COMPARE, features)  # c = max |q_j|
    prepare = OpKind.SHIFT if scores.scale == "power_of_two" else OpKind.DIVIDE
    tally.op(Phase.SCORE, prepare, features)  # |q_j|/c, what the uniforms are compared with
    tally.op(Phase.SCORE, OpKind.RANDOM_BITS, UNIFORM_BITS * digits, Dtype.BIT)
    tally.op(Phase.SCORE, OpKind.COMPARE, digits)
    for c, pairs in f.digits.items():
        tally.op(Phase.SCORE, OpKind.ACCUMULATE, pairs * f.keys, multiplicity=c)
    scale = OpKind.SHIFT if scores.scale == "power_of_two" else OpKind.MULTIPLY
    tally.op(Phase.SCORE, scale, f.heads * f.keys)  # c/R per score
    if scores.key_layout == "token_major":
        tally.main(Phase.SCORE, Tensor.K, Direction.READ, f.keys * f.head_dim * f.dtype.bytes, 1)
    else:
        drawn = sum(c * pairs for c, pairs in f.digits.items())
        tally.main(Phase.SCORE, Tensor.K, Direction.READ, f.keys * f.dtype.bytes, drawn,
                   f.features_union)


def _softmax(f: GroupFacts, tally: Tally) -> None:
    scores = f.heads * f.keys
    tally.op(Phase.SOFTMAX, OpKind.COMPARE, scores)  # running maximum
    tally.op(Phase.SOFTMAX, OpKind.ADD, scores)  # s − m
    tally.op(Phase.SOFTMAX, OpKind.EXP, scores)


def _dense_values(f: GroupFacts, tally: Tally) -> None:
    products = f.heads * f.keys * f.head_dim
    tally.op(Phase.SOFTMAX, OpKind.ADD, f.heads * f.keys)  # Z
    tally.op(Phase.VALUE, OpKind.MULTIPLY, products, f.dtype)
    tally.op(Phase.VALUE, OpKind.ADD, products)
    tally.main(Phase.VALUE, Tensor.V, Direction.READ, f.keys * f.head_dim * f.dtype.bytes, 1)
    _rescale_on_rise(f, tally)
    tally.op(Phase.MERGE, OpKind.DIVIDE, f.heads)
    tally.op(Phase.MERGE, OpKind.MULTIPLY, f.heads * f.head_dim)


def _rescale_on_rise(f: GroupFacts, tally: Tally) -> None:
    """A tile that raises the running maximum rescales the accumulator and Z."""
    tally.op(Phase.MERGE, OpKind.SHIFT, f.max_rises * (f.head_dim + 1))


def _step(samples: int, tally: Tally, combs: float) -> None:
    """Tooth spacing Z/S of each comb: a shift for a power of two, else a division."""
    tally.op(Phase.SAMPLE, OpKind.SHIFT if is_power_of_two(samples) else OpKind.DIVIDE, combs)


def is_power_of_two(number: int) -> bool:
    """Return whether dividing by `number` is a shift."""
    return number & (number - 1) == 0


def _stash(f: GroupFacts, tally: Tally) -> int:
    """Write all scores of the group to scratch; return the buffer's size in bytes."""
    footprint = f.heads * f.keys * _WORD
    tally.scratch(Phase.SOFTMAX, Tensor.STASH, Direction.WRITE, footprint, 1, footprint)
    return footprint


def _random(products: float, f: GroupFacts, tally: Tally) -> None:
    """Each head scales uniforms by its own spacing, but heads may share the uniforms."""
    tally.op(Phase.SAMPLE, OpKind.RANDOM_BITS, UNIFORM_BITS * f.uniforms, Dtype.BIT)
    tally.op(Phase.SAMPLE, OpKind.RANDOM_PRODUCT, products)


def _global_sampling(stage: str, samples: int, f: GroupFacts, tally: Tally) -> None:
    scores = f.heads * f.keys
    footprint = _stash(f, tally)
    tally.scratch(Phase.SAMPLE, Tensor.STASH, Direction.READ, footprint, 1, footprint)
    tally.op(Phase.SAMPLE, OpKind.ADD, scores)  # prefix sum
    if stage == "santa_iid":
        _random(f.draws, f, tally)
        tally.op(Phase.SAMPLE, OpKind.COMPARE, f.draws * f.keys.bit_length())  # binary search
        return
    _step(samples, tally, f.heads)
    _random(f.draws if stage == "santa_stratified" else f.heads, f, tally)
    tally.op(Phase.SAMPLE, OpKind.ADD, f.draws)  # thresholds
    tally.op(Phase.SAMPLE, OpKind.COMPARE, scores + f.draws)  # walk along the prefix sums


def _tiled_sampling(stage: str, samples: int, tile: int, f: GroupFacts, tally: Tally) -> None:
    tiles = -(-f.keys // tile)
    pairs = f.heads * tiles
    footprint = _stash(f, tally)
    tail = f.keys - (tiles - 1) * tile
    for length, won in ((tile, f.tiles_won - f.tails_won), (tail, f.tails_won)):
        tally.scratch(Phase.SAMPLE, Tensor.STASH, Direction.READ, length * _WORD, won, footprint,
                      Pattern.GATHER)
    masses = f.heads * tiles * 2 * _WORD  # a maximum and a sum per tile
    tally.scratch(Phase.SOFTMAX, Tensor.TILE_MASS, Direction.WRITE, masses, 1, masses)
    tally.scratch(Phase.SAMPLE, Tensor.TILE_MASS, Direction.READ, masses, 1, masses)
    tally.op(Phase.SOFTMAX, OpKind.ADD, f.heads * f.keys)  # tile sums
    tally.op(Phase.SAMPLE, OpKind.SHIFT, pairs)  # tile masses on one scale: ℓ_t·exp(m_t − m*)
    tally.op(Phase.SAMPLE, OpKind.ADD, pairs)  # scan over tiles
    if stage == "s2anta_comb":
        _step(samples, tally, f.heads)
        _random(f.heads, f, tally)
        tally.op(Phase.SAMPLE, OpKind.COMPARE, pairs)
    else:
        tally.op(Phase.SAMPLE, OpKind.DIVIDE, f.heads)
        tally.op(Phase.SAMPLE, OpKind.MULTIPLY, pairs)  # quotas S·P_t
        tally.op(Phase.SAMPLE, OpKind.CONVERT, pairs)  # their floors
        tally.op(Phase.SAMPLE, OpKind.COMPARE, pairs * tiles.bit_length())  # largest remainders
        _random(f.tiles_won, f, tally)
        tally.op(Phase.SAMPLE, OpKind.DIVIDE, f.tiles_won)
    tally.op(Phase.SAMPLE, OpKind.ADD, f.rows_in_won_tiles + f.draws)
    tally.op(Phase.SAMPLE, OpKind.COMPARE, f.rows_in_won_tiles + f.draws)


def _flash_sampling(samples: int, tile: int, f: GroupFacts, tally: Tally) -> None:
    tiles = -(-f.keys // tile)
    pairs = f.heads * tiles
    _step(tile_budget(samples, tiles), tally, pairs)
    _random(pairs, f, tally)
    tally.op(Phase.SAMPLE, OpKind.ADD, f.heads * f.keys + f.draws)  # prefix sums and thresholds
    tally.op(Phase.SAMPLE, OpKind.COMPARE, f.heads * f.keys + f.draws)


def _gathered_values(f: GroupFacts, tally: Tally) -> None:
    # the list of drawn rows can be as long as the draws, however few of them differ
    index_bytes = _WORD * round(f.draws)
    for phase, way in ((Phase.SAMPLE, Direction.WRITE), (Phase.VALUE, Direction.READ)):
        tally.scratch(phase, Tensor.INDEX, way, _WORD, f.distinct, index_bytes)
    tally.op(Phase.VALUE, OpKind.ADDRESS, f.distinct, Dtype.INT32)
    for c, pairs in f.multiplicities.items():
        tally.op(Phase.VALUE, OpKind.ACCUMULATE, pairs * f.head_dim, multiplicity=c)
    tally.main(Phase.VALUE, Tensor.V, Direction.READ, f.head_dim * f.dtype.bytes, f.draws,
               f.union_rows, Pattern.GATHER)


def _merge(stage: str, samples: int, f: GroupFacts, tally: Tally, tile: int) -> None:
    outputs = f.heads * f.head_dim
    if stage != "s2anta_flash":
        scale = OpKind.SHIFT if is_power_of_two(samples) else OpKind.MULTIPLY
        tally.op(Phase.MERGE, scale, outputs)  # 1/S
        return
    tiles = -(-f.keys // tile)
    pairs = f.heads * tiles
    tally.op(Phase.MERGE, OpKind.SHIFT, pairs)  # ℓ_t·exp(m_t − m)
    budget = tile_budget(samples, tiles)
    tally.op(Phase.MERGE, OpKind.SHIFT if is_power_of_two(budget) else OpKind.DIVIDE, pairs)
    tally.op(Phase.MERGE, OpKind.MULTIPLY, pairs * f.head_dim)  # ℓ_t/S_t · tile sum
    tally.op(Phase.MERGE, OpKind.ADD, pairs * (1 + f.head_dim))  # Z and the output
    _rescale_on_rise(f, tally)
    tally.op(Phase.MERGE, OpKind.DIVIDE, f.heads)
    tally.op(Phase.MERGE, OpKind.MULTIPLY, outputs)
