"""How many rows `s2anta_flash` draws: requested and effective."""

from __future__ import annotations


def tile_budget(samples: int, tiles: int) -> int:
    """Return S_t = max(1, ⌊S/T⌋), the draws that every tile makes (0 without tiles)."""
    return max(1, samples // tiles) if tiles else 0


def effective_samples(samples: int, tile: int, length: int) -> int:
    """Return T·S_t, the rows that a head of a sequence of `length` keys really draws."""
    tiles = -(-length // tile)
    return tiles * tile_budget(samples, tiles)


def rows_per_head(samples: int, tile: int, context: int) -> int:
    """Return the most rows that a head can draw in a sequence of up to `context` keys."""
    return max(samples, -(-context // tile))
