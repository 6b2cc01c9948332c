"""How `s2anta_comb_decode` is launched, by rule."""

from __future__ import annotations

from gpu_kernels.decode_sizes import DecodeSizes, programs_per_split
from gpu_kernels.split_plan import (
    DeviceLimits,
    LaunchPlan,
    next_power_of_two,
    programs_that_fit,
    stages_that_fit,
)

MIN_TILE, DEFAULT_TILE, MAX_TILE = 32, 256, 256
BLOCK = 16
"""Keys per block: 16 weights of 2 bytes of one head fill one 32-byte sector."""
SPAN = 16
"""Tiles per span, the coarsest step of the search."""
MAX_TEETH = 256
"""Draws of one program; the programs of a head leave partial sums, added in a fixed order."""
WAVE_TILES = range(8, 33)
"""Tiles per program for which one wave of programs is faster than a program per tile."""


def plan(sizes: DecodeSizes, tile: int, limits: DeviceLimits) -> LaunchPlan:
    """Choose warps, stages and programs of the score pass from the shapes and the device.

    Every tile is scored alone, so that no bit depends on how programs share them.
    """
    tiles = max(1, -(-sizes.context // tile))
    per_split = programs_per_split(sizes)
    wave = programs_that_fit(limits, per_split, sizes.batch, tiles, ctas_per_sm=2)
    programs = wave if -(-tiles // wave) in WAVE_TILES else tiles
    stages = stages_that_fit(limits, tile * sizes.row_bytes, most=2)
    return LaunchPlan(tile, max(1, tile // 32), stages, programs)


def draw_plan(samples: int) -> tuple[int, int]:
    """Return (teeth per program, warps) of the drawing pass."""
    teeth = min(MAX_TEETH, max(32, next_power_of_two(samples)))
    return teeth, teeth // 32


def draw_launch(tiles: int, warps: int) -> tuple[int, int]:
    """Return (spans that a search step compares, tiles whose masses are added at once)."""
    # Triton 3.6 cannot compile a scan over fewer numbers than threads
    chunk = min(1024, max(32 * warps, next_power_of_two(tiles)))
    return min(64, next_power_of_two(tiles // SPAN)), chunk
