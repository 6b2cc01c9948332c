"""How weights are stashed in one pass and drawn from in a later one, by rule."""

from __future__ import annotations

from gpu_kernels.decode_sizes import DecodeSizes, programs_per_split
from gpu_kernels.split_plan import (
    DeviceLimits,
    LaunchPlan,
    next_power_of_two,
    splits_that_fill,
    stages_that_fit,
)

BLOCK = 16
"""Keys per block: 16 weights of 2 bytes of one head fill one 32-byte sector."""
SPAN = 16
"""Tiles per span, the coarse step of the search for a draw's tile."""
MIN_TILE, MAX_TILE = 16, 256
KEYS_AT_ONCE = 256
"""Most keys that one program scores together, several tiles where tiles are short."""
MAX_DRAWS = 128
BYTES_PER_WARP = 8192
"""Drawn values that one warp holds: 64 registers per thread."""


def largest_tile(sizes: DecodeSizes, limits: DeviceLimits) -> int:
    """Return the most keys of a tile: its rows must fit into a block's shared memory."""
    tile = MAX_TILE
    while tile * sizes.row_bytes > limits.shared_per_block_bytes * 4 // 5:
        tile //= 2
    return tile


def stash_plan(sizes: DecodeSizes, tile: int, limits: DeviceLimits) -> LaunchPlan:
    """Choose block, warps, stages and splits of a score pass from the shapes and the device."""
    block_n = KEYS_AT_ONCE
    while block_n > tile and stages_that_fit(limits, block_n * sizes.row_bytes, most=2) < 2:
        block_n //= 2
    blocks = -(-sizes.context // block_n)
    splits = splits_that_fill(limits, programs_per_split(sizes), blocks, ctas_per_sm=2)
    stages = stages_that_fit(limits, block_n * sizes.row_bytes, most=2)
    return LaunchPlan(block_n, 4, stages, splits)


def draws_per_program(sizes: DecodeSizes, samples: int) -> tuple[int, int]:
    """Return (draws of one program, warps); a thread finds a draw, a warp adds its rows."""
    draws = min(MAX_DRAWS, max(32, next_power_of_two(samples)))
    # float8 is added up as 16-bit numbers at least
    row_bytes = next_power_of_two(sizes.head_dim) * max(2, sizes.row_bytes // sizes.head_dim)
    # Triton 3.6 cannot compile a scan over fewer numbers (2 per draw) than threads
    return draws, max(1, min(draws // 16, draws * row_bytes // BYTES_PER_WARP))
