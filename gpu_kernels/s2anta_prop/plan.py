"""How `s2anta_prop_decode` is launched, by rule; its score pass is `stash_plan`'s."""

from __future__ import annotations

from gpu_kernels.split_plan import next_power_of_two

DEFAULT_TILE = 64
TILES_PER_WARP = 512
"""Tiles whose budgets one warp works out: 16 per thread."""
MAX_TILES = 2**17
"""Tiles of one sequence: one program per head holds all their masses."""


def budget_plan(tiles: int) -> tuple[int, int]:
    """Return (tiles that one program holds, warps) of the pass that splits draws over tiles."""
    block_t = max(32, next_power_of_two(tiles))
    return block_t, min(32, max(1, block_t // TILES_PER_WARP))
