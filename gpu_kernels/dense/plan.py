"""How `dense_decode` is launched, by rule."""

from __future__ import annotations

from gpu_kernels.decode_sizes import DecodeSizes, programs_per_split
from gpu_kernels.split_plan import (
    DeviceLimits,
    LaunchPlan,
    programs_that_fit,
    splits_that_fill,
    stages_that_fit,
)


def plan(sizes: DecodeSizes, limits: DeviceLimits) -> LaunchPlan:
    """Choose tile, warps, stages and splits from the shapes and the device."""
    block_n = 128 if sizes.row_bytes <= 128 else 64 if sizes.row_bytes <= 512 else 32
    # n stages hold n − 1 tiles of keys and of values
    stages = stages_that_fit(limits, 2 * block_n * sizes.row_bytes, most=3) + 1
    tiles = -(-sizes.context // block_n)
    per_split = programs_per_split(sizes)
    splits = splits_that_fill(limits, per_split, tiles, ctas_per_sm=1)
    programs = programs_that_fit(limits, per_split, sizes.batch, splits, ctas_per_sm=1)
    return LaunchPlan(block_n, 4, stages, splits, programs)
