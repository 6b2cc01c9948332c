"""What one decode step reads and draws in each tile of each KV head, from its exact rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from santa_sim.methods.decode import DrawnRows

Integers = NDArray[np.int64]


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
    drawn: DrawnRows | None, lens: NDArray[np.int64], kv_heads: int, group_size: int, tile: int
) -> Iterator[HeadTiles]:
    """Yield the KV heads of all sequences that have keys, sequence by sequence.

    drawn: of `santa_sim.methods.decode`; lens: int64 [B], rows of each sequence; tile: rows.
    """
    for batch, n in enumerate(lens.tolist()):
        if n == 0:
            continue
        tiles = -(-n // tile)
        keys = np.full(tiles, tile)
        keys[-1] = n - (tiles - 1) * tile
        for head in range(kv_heads):
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
