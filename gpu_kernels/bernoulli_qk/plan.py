"""How both forms of `bernoulli_qk` are launched, by rule.

feature_stride: numbers from one feature of a KV head to the next, in the caches.
"""

from __future__ import annotations

from gpu_kernels.decode_sizes import DecodeSizes, programs_per_split
from gpu_kernels.split_plan import (
    DeviceLimits,
    LaunchPlan,
    next_power_of_two,
    programs_that_fit,
    splits_that_fill,
    stages_that_fit,
)

DEFAULT_TILE = 64


def keys_at_once(sizes: DecodeSizes, feature_stride: int, least: int) -> int:
    """Return the keys of one block: at most 128 numbers of K per thread, so that nothing spills.

    A quarter in float32, which has no tensor cores; half where odd strides forbid wide loads.
    """
    numbers = 16384 if sizes.row_bytes // sizes.head_dim <= 2 else 4096
    if feature_stride % 16:
        numbers //= 2
    return max(least, min(128, numbers // next_power_of_two(sizes.head_dim)))


def plan(sizes: DecodeSizes, feature_stride: int, limits: DeviceLimits) -> LaunchPlan:
    """Choose tile, warps, stages and splits of the dense form from the shapes and the device."""
    block_n = keys_at_once(sizes, feature_stride, 16)
    stages = stages_that_fit(limits, 2 * block_n * sizes.row_bytes, most=3)
    tiles = -(-sizes.context // block_n)
    per_split = programs_per_split(sizes)
    splits = splits_that_fill(limits, per_split, tiles, ctas_per_sm=1)
    programs = programs_that_fit(limits, per_split, sizes.batch, splits, ctas_per_sm=1)
    return LaunchPlan(block_n, 4, stages, splits, programs)


def score_plan(
    sizes: DecodeSizes, feature_stride: int, tile: int, limits: DeviceLimits
) -> LaunchPlan:
    """Choose block, warps, stages and splits of the score pass before sampled values."""
    block_n = keys_at_once(sizes, feature_stride, tile)
    stages = stages_that_fit(limits, block_n * sizes.row_bytes, most=3)
    blocks = -(-sizes.context // block_n)
    splits = splits_that_fill(limits, programs_per_split(sizes), blocks, ctas_per_sm=2)
    return LaunchPlan(block_n, 4, stages, splits)
