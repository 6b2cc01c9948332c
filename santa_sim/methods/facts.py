"""What happened in one KV group: the numbers from which every ledger entry follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hw_models.ledger import Dtype


@dataclass(frozen=True)
class GroupFacts:
    """Counts of one KV head and its G query heads in one sequence of one decode step.

    The sampled level fills them with whole numbers, the expected level with their expectations.

    keys: n > 0; head_dim: d; heads: G; dtype: storage format of K and V.
    draws: rows asked for, Σ over heads. multiplicities: c -> (head, row) pairs drawn exactly c > 0
    times. union_rows: rows drawn by at least one head.
    uniforms: random numbers made; heads that share offsets share them.
    tiles_won: (head, tile) pairs with a draw; rows_in_won_tiles: their keys; tails_won: how many
    of them are the shorter last tile.
    max_rises: tiles after the first that raised a head's running maximum, Σ over heads.
    digits: c -> (head, feature) pairs whose R ternary digits sum to ±c, c > 0.
    features_union: features with a digit in at least one head.
    """

    keys: int
    head_dim: int
    heads: int
    dtype: Dtype
    draws: float = 0
    multiplicities: Mapping[int, float] = field(default_factory=dict)
    union_rows: float = 0
    uniforms: float = 0
    tiles_won: float = 0
    rows_in_won_tiles: float = 0
    tails_won: float = 0
    max_rises: float = 0
    digits: Mapping[int, float] = field(default_factory=dict)
    features_union: float = 0

    @property
    def distinct(self) -> float:
        """(head, row) pairs with at least one draw."""
        return sum(self.multiplicities.values())


def uniforms_made(stage: str, samples: int, streams: int, tile_combs: int) -> int:
    """Return how many uniforms the draws of one KV group need.

    stage: a sampled value stage; samples: S; streams: G, or 1 where the heads share offsets;
    tile_combs: (stream, tile) pairs with a draw, for methods with a comb per tile.
    """
    if stage in ("santa_iid", "santa_stratified"):
        return samples * streams
    return tile_combs if stage in ("s2anta_flash", "s2anta_prop") else streams
