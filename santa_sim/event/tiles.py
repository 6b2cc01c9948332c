"""What one decode step reads and draws in each tile of each KV head, from its exact rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw_models.entries import Dtype
from santa_sim.data.attention import AttentionStep
from santa_sim.methods.decode import DrawnRows

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StepShape:
    """What a schedule needs to know of a decode step besides its rows.

    batch: B; rows: n, with padding; kv_heads: KVH; group_size: G; head_dim: d; dtype: of K and V;
    seq_lens: int64 [B]; represents: as in `AttentionStep`.
    """

    batch: int
    rows: int
    kv_heads: int
    group_size: int
    head_dim: int
    dtype: Dtype
    seq_lens: Integers
    represents: int

    @staticmethod
    def of(step: AttentionStep) -> StepShape:
        """Return the shape of a decode step."""
        batch, rows, kv_heads, head_dim = step.k.shape
        return StepShape(
            batch, rows, kv_heads, step.q.shape[1] // kv_heads, head_dim, step.dtype,
            step.seq_lens, step.represents,
        )

    @property
    def row_bytes(self) -> int:
        """Bytes of a row of K, or of V, of one head."""
        return self.head_dim * self.dtype.bytes


@dataclass(frozen=True)
class HeadTiles:
    """One KV head of one sequence, tile by tile.

    batch, head: which one. keys: int64 [T], rows of each tile. rows: per tile, the rows of V that
    are read, ascending, or None where all are. pairs: int64 [T], (query head, row) pairs that were
    drawn at least once; draws: with repeats; won: query heads with a draw. Zero where all are read.
    """

    batch: int
    head: int
    keys: Integers
    rows: tuple[Integers, ...] | None
    pairs: Integers
    draws: Integers
    won: Integers


def head_tiles(
    drawn: DrawnRows | None, shape: StepShape, tile: int
) -> Iterator[HeadTiles]:
    """Yield the KV heads of all sequences that have keys, sequence by sequence.

    drawn: of `santa_sim.methods.decode`; tile: rows of a tile.
    """
    group_size = shape.group_size
    for batch, n in enumerate(shape.seq_lens.tolist()):
        if n == 0:
            continue
        tiles = -(-n // tile)
        keys = np.full(tiles, tile)
        keys[-1] = n - (tiles - 1) * tile
        for head in range(shape.kv_heads):
            pairs, draws, won = np.zeros((3, tiles), np.int64)
            rows = None
            if drawn is not None:
                for query_head in range(head * group_size, (head + 1) * group_size):
                    own, counts = drawn.of(batch, query_head)
                    of_tile = np.bincount(own // tile, minlength=tiles)
                    pairs += of_tile
                    draws += np.bincount(own // tile, counts, tiles).astype(np.int64)
                    won += of_tile > 0
                union = drawn.union(batch, head, group_size).astype(np.int64)
                rows = tuple(np.split(union, np.searchsorted(union, tile * np.arange(1, tiles))))
            yield HeadTiles(batch, head, keys, rows, pairs, draws, won)
