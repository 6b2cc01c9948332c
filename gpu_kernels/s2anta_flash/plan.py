"""How `s2anta_flash_decode` is launched, by rule."""

from __future__ import annotations

from gpu_kernels.decode_sizes import DecodeSizes, programs_per_split
from gpu_kernels.s2anta_flash.budget import tile_budget
from gpu_kernels.split_plan import (
    DeviceLimits,
    LaunchPlan,
    head_blocks,
    next_power_of_two,
    programs_per_sm,
    programs_that_fit,
    splits_that_fill,
    stages_that_fit,
)

MIN_TILE, DEFAULT_TILE, MAX_TILE = 16, 64, 256
MIN_SPLIT = 256
"""Keys; shorter splits would write more partial results than they are worth."""
RESIDENT = 8
"""Programs per multiprocessor."""
MAX_PAIRS = 32
"""(head, sample) pairs of one product; a larger budget takes more passes over the tile."""


def samples_per_pass(sizes: DecodeSizes, samples: int, tile: int) -> int:
    """Return how many samples of each head one pass over a tile draws, a power of two."""
    heads, _ = head_blocks(sizes.group)
    budget = tile_budget(samples, max(1, -(-sizes.context // tile)))
    return min(next_power_of_two(budget), max(1, MAX_PAIRS // heads))


def plan(sizes: DecodeSizes, tile: int, limits: DeviceLimits) -> LaunchPlan:
    """Choose warps, stages and splits from the shapes and the device; the tile is the caller's.

    One warp has a whole small tile to itself: no barrier, and a thread scans its keys alone.
    """
    tiles = -(-sizes.context // tile)
    per_split = programs_per_split(sizes)
    splits = splits_that_fill(limits, per_split, tiles, RESIDENT, max(1, MIN_SPLIT // tile))
    programs = programs_that_fit(limits, per_split, sizes.batch, splits, RESIDENT)
    resident = programs_per_sm(limits, per_split * sizes.batch * programs, RESIDENT)
    # n stages hold n − 1 tiles of every resident program
    stages = stages_that_fit(limits, resident * tile * sizes.row_bytes, most=2) + 1
    # compiled for sm_120, one warp with 64 keys runs out of registers
    keys_per_warp = 64 if limits.capability < (12, 0) else 32
    return LaunchPlan(tile, max(1, tile // keys_per_warp), stages, splits, programs)
