"""Drawing rows from stashed weights, every draw for itself: which tile, which row, add it up."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

from __future__ import annotations

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_float32, head_base, row_offsets, sequence_length
from gpu_kernels.random_offsets import step_and_layer, uniform_offsets
from gpu_kernels.stash_plan import SPAN
from gpu_kernels.tile_stash import BLOCK_KEYS

SPAN_TILES = tl.constexpr(SPAN)
PAST_THE_END = tl.constexpr(2147483647)

@triton.jit
def first_reached(mass, level, COUNT: tl.constexpr):
    """Return (index, mass ahead of it) of the first entry whose running mass reaches `level`.

    mass: float32 [draws, COUNT] >= 0; level: float32 [draws] > 0; a level that rounding put past
    the end counts as the end. A parallel prefix sum can fall by a rounding error: entries of
    mass 0 must not profit, so their 0 is below every level.
    """
    running = tl.where(mass > 0, tl.cumsum(mass, 1), 0.0)
    level = tl.minimum(level, tl.max(running, 1))
    reached = running >= level[:, None]
    index = tl.min(tl.where(reached, tl.arange(0, COUNT)[None, :], COUNT - 1), 1)
    ahead = tl.max(tl.where(reached, 0.0, running), 1)
    return index, ahead


@triton.jit
def tile_of_draw(start_ptr, draw, drawn, tiles, SPANS: tl.constexpr, DRAWS: tl.constexpr):
    """Return the last tile whose first draw is at most `draw`, through spans of 16 tiles.

    start: int32 [T], the first draw of each tile, never falling; draw: int32 [DRAWS].
    """
    span = tl.zeros([DRAWS], tl.int32)
    for first in range(0, tl.cdiv(tiles, SPAN_TILES), SPANS):
        edge = (first + tl.arange(0, SPANS)) * SPAN_TILES
        begin = tl.load(start_ptr + edge, edge < tiles, other=PAST_THE_END)
        span += tl.sum((begin[:, None] <= draw[None, :]).to(tl.int32), 0)
    tile = ((span - 1) * SPAN_TILES)[:, None] + tl.arange(0, SPAN_TILES)[None, :]
    begin = tl.load(start_ptr + tile, drawn[:, None] & (tile < tiles), other=PAST_THE_END)
    inside = tl.sum((begin <= draw[:, None]).to(tl.int32), 1)
    return tl.where(drawn, (span - 1) * SPAN_TILES + inside - 1, 0)


@triton.jit
def draw_kernel(
    v_ptr, lens_ptr, indptr_ptr, indices_ptr, state_ptr,
    stash_ptr, block_mass_ptr, tile_mass_ptr, tile_max_ptr, start_ptr,
    part_ptr, max_ptr, sum_ptr, rows_ptr,
    capacity, group, v_stride_0, v_stride_h, tiles_per_head, starts_per_head, stash_unit,
    samples, most_rows, layer,
    V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    TILE: tl.constexpr, DRAWS: tl.constexpr, SPANS: tl.constexpr, SHARED: tl.constexpr,
    PDL: tl.constexpr,
):
    """Find part = Σ_k w_k·v[row of draw k] and sum = Σ_k w_k over a program's DRAWS draws.

    Draw j of the S_t in tile t takes the first row whose running weight reaches
    (j + 1 − a_t)/S_t of the tile's. With `start` (int32 [B·H, starts_per_head], the first draw of
    each tile and of what follows the last) the budgets are S_t = start[t + 1] − start[t] and
    w_k = 1; without it every tile has the same S_t = max(1, ⌊samples/T⌋) and
    w_k = 2^(m_t − max)·ℓ_t/S_t. The tile is known or found through `start`, in it the block of 16
    keys, in it the row.
    Grid (parts, H, B). part: float32 [B·H, parts, d]; max, sum: float32 [B·H, parts], −inf for a
    part without draws; rows: int32 [B·H, most_rows] or None; the rest as `stash_tiles` wrote it.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    part, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    parts, heads = tl.num_programs(0), tl.num_programs(1)
    kv_head = head // group
    flat_head = (batch * heads + head).to(tl.int64)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    tiles = tl.cdiv(length, TILE)
    first_tile = flat_head * tiles_per_head
    draw = part * DRAWS + tl.arange(0, DRAWS)
    if start_ptr is not None:
        start_ptr += flat_head * starts_per_head
        drawn = draw < tl.load(start_ptr + tiles)
        tile = tile_of_draw(start_ptr, draw, drawn, tiles, SPANS, DRAWS)
        mass = tl.load(tile_mass_ptr + first_tile + tile, drawn, other=0.0)
        begin = tl.load(start_ptr + tile, drawn, other=0)
        budget = tl.load(start_ptr + tile + 1, drawn, other=1) - begin
        peak = tl.where(drawn, 0.0, float("-inf"))
        weight = tl.where(drawn, 1.0, 0.0)
    else:
        equal = tl.maximum(samples // tl.maximum(tiles, 1), 1)
        drawn = draw < tiles * equal
        tile = draw // equal
        begin = tile * equal
        budget = begin * 0 + equal
        mass = tl.load(tile_mass_ptr + first_tile + tile, drawn, other=0.0)
        drawn = drawn & (mass > 0)
        peak = tl.load(tile_max_ptr + first_tile + tile, drawn, other=float("-inf"))
        weight = mass / (budget * stash_unit)
    slot = flat_head * parts + part
    top = tl.max(peak, 0)
    tl.store(max_ptr + slot, top)
    if top == float("-inf"):
        return
    weight = tl.where(drawn, weight * tl.exp2(peak - top), 0.0)
    tl.store(sum_ptr + slot, tl.sum(weight, 0))

    stream = head
    if SHARED:
        stream = kv_head
    offset = uniform_offsets(tl.load(state_ptr), step_and_layer(state_ptr, layer), batch, stream,
                             tile)
    level = tl.minimum((draw - begin + 1 - offset) / budget, 1.0) * mass
    first_key = tile * TILE
    if TILE > BLOCK_KEYS:
        block = tl.arange(0, TILE // BLOCK_KEYS)
        masses = tl.load(block_mass_ptr + (first_tile + tile)[:, None] * (TILE // BLOCK_KEYS)
                         + block[None, :], drawn[:, None], other=1.0)
        in_tile, ahead = first_reached(masses, level, TILE // BLOCK_KEYS)
        level -= ahead
        first_key += in_tile * BLOCK_KEYS
    key = tl.arange(0, BLOCK_KEYS)
    stashed = tl.load(stash_ptr + first_tile * TILE + first_key[:, None] + key[None, :],
                      drawn[:, None], other=1.0)
    in_block, _ = first_reached(stashed.to(tl.float32), level, BLOCK_KEYS)
    row = first_key + in_block
    offsets = row_offsets(row, drawn, indptr_ptr, indices_ptr, batch, v_stride_0, V_STRIDE_N,
                          PAGE_SIZE)
    dims = tl.arange(0, BLOCK_D)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, PAGE_SIZE)
    v = tl.load(v_base + offsets[:, None] + dims[None, :],
                drawn[:, None] & (dims < HEAD_DIM)[None, :], other=0.0)
    if rows_ptr is not None:
        tl.store(rows_ptr + flat_head * most_rows + draw, row, drawn)
    tl.store(part_ptr + slot * HEAD_DIM + dims, tl.sum(as_float32(v) * weight[:, None], 0),
             dims < HEAD_DIM)
