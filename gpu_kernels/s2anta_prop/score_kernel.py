"""First pass of `s2anta_prop`: scores of all keys, kept as weights, and the mass of every tile."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand, head_base, sequence_length
from gpu_kernels.tile_scores import load_queries, load_tile
from gpu_kernels.tile_stash import stash_tiles


@triton.jit
def score_kernel(
    q_ptr, k_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr,
    stash_ptr, block_mass_ptr, tile_mass_ptr, tile_max_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_h, log2_scale,
    tiles_per_head, stash_unit, K_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, TILE: tl.constexpr, BLOCK_N: tl.constexpr,
    COLUMNS: tl.constexpr, PDL: tl.constexpr,
):
    """Score BLOCK_N keys at a time, a whole number of tiles; outputs as `stash_tiles` says.

    Grid (KVH·BLOCKS, splits, B): one block of HEADS query heads, one stretch of one sequence.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    kv_head = tl.program_id(0) // BLOCKS
    split, splits, batch = tl.program_id(1), tl.num_programs(1), tl.program_id(2)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    column = tl.arange(0, COLUMNS)
    member = tl.program_id(0) % BLOCKS * HEADS + column
    head = kv_head * group + member
    mine = (column < HEADS) & (member < group)
    heads = tl.num_programs(0) // BLOCKS * group
    flat_head = (batch * heads + head).to(tl.int64)

    per_split = tl.cdiv(tl.cdiv(length, BLOCK_N), splits) * BLOCK_N
    first = split * per_split
    last = tl.minimum(first + per_split, length)
    if k_scale_ptr is not None:
        log2_scale *= tl.load(k_scale_ptr + kv_head)
    q = load_queries(q_ptr, batch, head, mine, q_stride_b, q_stride_h, HEAD_DIM, BLOCK_D)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, PAGE_SIZE)
    key = tl.arange(0, BLOCK_N)
    for start in tl.range(first, last, BLOCK_N):
        k = load_tile(k_base, indptr_ptr, indices_ptr, batch, start, length, k_stride_0,
                      K_STRIDE_N, PAGE_SIZE, HEAD_DIM, BLOCK_N, BLOCK_D, False)
        s = tl.dot(as_operand(k, q_ptr), q, input_precision="ieee") * log2_scale
        s = tl.where((start + key < length)[:, None], s, float("-inf"))
        stash_tiles(s, start, mine, flat_head, stash_ptr, block_mass_ptr, tile_mass_ptr,
                    tile_max_ptr, tiles_per_head, stash_unit, TILE, BLOCK_N, COLUMNS)
