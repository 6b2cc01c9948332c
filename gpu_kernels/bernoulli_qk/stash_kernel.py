"""`bernoulli_qk` before sampled values: ternary scores of all keys, kept as weights per tile."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.bernoulli_qk.feature_scores import load_digits, tile_scores
from gpu_kernels.cache_rows import head_base, sequence_length
from gpu_kernels.tile_stash import stash_tiles


@triton.jit
def ternary_stash_kernel(
    q_ptr, k_ptr, lens_ptr, digits_ptr, unit_ptr, k_scale_ptr,
    stash_ptr, block_mass_ptr, tile_mass_ptr, tile_max_ptr,
    capacity, group, k_stride_0, k_stride_h, k_stride_d, tiles_per_head, stash_unit,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, TILE: tl.constexpr, BLOCK_N: tl.constexpr,
    ROWS: tl.constexpr, PDL: tl.constexpr,
):
    """Score BLOCK_N keys at a time, a whole number of tiles; outputs as `stash_tiles` says.

    Grid (KVH·BLOCKS, splits, B); digits, unit as `digits_kernel` wrote them; q: only its format.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    kv_head = tl.program_id(0) // BLOCKS
    split, splits, batch = tl.program_id(1), tl.num_programs(1), tl.program_id(2)
    length = sequence_length(lens_ptr, None, batch, capacity, 0)
    row = tl.arange(0, ROWS)
    member = tl.program_id(0) % BLOCKS * HEADS + row
    mine = (row < HEADS) & (member < group)
    heads = tl.num_programs(0) // BLOCKS * group
    flat_head = (batch * heads + kv_head * group + member).to(tl.int64)

    per_split = tl.cdiv(tl.cdiv(length, BLOCK_N), splits) * BLOCK_N
    first = split * per_split
    last = tl.minimum(first + per_split, length)
    digits, unit, touched = load_digits(digits_ptr, unit_ptr, flat_head, mine, HEAD_DIM, BLOCK_D)
    if k_scale_ptr is not None:
        unit *= tl.load(k_scale_ptr + kv_head)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, 0)
    for start in tl.range(first, last, BLOCK_N):
        s = tile_scores(k_base, start, last, digits, unit, touched, q_ptr, k_stride_d, BLOCK_N,
                        BLOCK_D)
        stash_tiles(tl.trans(s), start, mine, flat_head, stash_ptr, block_mass_ptr, tile_mass_ptr,
                    tile_max_ptr, tiles_per_head, stash_unit, TILE, BLOCK_N, ROWS)
