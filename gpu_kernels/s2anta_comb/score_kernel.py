"""First pass of `s2anta_comb`: scores of all keys, kept as 16-bit weights, and their sums."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand, head_base, sequence_length
from gpu_kernels.s2anta_comb.plan import BLOCK
from gpu_kernels.tile_scores import load_queries, load_tile

BLOCK_KEYS = tl.constexpr(BLOCK)


@triton.jit
def score_kernel(
    q_ptr, k_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr,
    stash_ptr, block_mass_ptr, tile_mass_ptr, tile_max_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_h, log2_scale,
    tiles_per_head, stash_unit, K_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, COLUMNS: tl.constexpr,
    PDL: tl.constexpr,
):
    """Stash u_i = round(unit·2^(s_i − m_t)) with m_t the tile's maximum; masses are sums of u.

    Keys lie along the rows and heads along the COLUMNS of the product. Grid (KVH·BLOCKS, splits,
    B). stash: float16 or float32 [B·H, T·BLOCK_N]; block_mass: float32 [B·H, T, BLOCK_N/16];
    tile_mass, tile_max: float32 [B·H, T]; T = tiles_per_head, of which a shorter sequence fills
    the first ⌈n/BLOCK_N⌉. unit: scale that keeps small weights representable in 16 bits.
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
    flat_head = (batch * heads + head).to(tl.int64) * tiles_per_head

    tiles = tl.cdiv(length, BLOCK_N)
    per_split = tl.cdiv(tiles, splits)
    first = split * per_split
    last = tl.minimum(first + per_split, tiles)
    if k_scale_ptr is not None:
        log2_scale *= tl.load(k_scale_ptr + kv_head)
    q = load_queries(q_ptr, batch, head, mine, q_stride_b, q_stride_h, HEAD_DIM, BLOCK_D)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, PAGE_SIZE)
    key = tl.arange(0, BLOCK_N)
    block = tl.arange(0, BLOCK_N // BLOCK_KEYS)
    for tile in tl.range(first, last):
        k = load_tile(k_base, indptr_ptr, indices_ptr, batch, tile * BLOCK_N, length, k_stride_0,
                      K_STRIDE_N, PAGE_SIZE, HEAD_DIM, BLOCK_N, BLOCK_D, False)
        s = tl.dot(as_operand(k, q_ptr), q, input_precision="ieee") * log2_scale
        live = tile * BLOCK_N + key < length
        s = tl.where(live[:, None], s, float("-inf"))
        top = tl.max(s, 0)
        shift = tl.where(top == float("-inf"), 0.0, top)
        u = (tl.exp2(s - shift[None, :]) * stash_unit).to(stash_ptr.dtype.element_ty)
        place = flat_head + tile
        tl.store(stash_ptr + place[None, :] * BLOCK_N + key[:, None], u, mine[None, :])
        sums = tl.sum(tl.reshape(u.to(tl.float32), [BLOCK_N // BLOCK_KEYS, BLOCK_KEYS, COLUMNS]), 1)
        tl.store(block_mass_ptr + place[None, :] * (BLOCK_N // BLOCK_KEYS) + block[:, None], sums,
                 mine[None, :])
        tl.store(tile_mass_ptr + place, tl.sum(sums, 0), mine)
        tl.store(tile_max_ptr + place, top, mine)
