"""Triton kernel of `s2anta_flash` over neighbouring splits of one sequence.

Every (head, sample) pair draws a row: one thread finds it alone, by counting the keys whose running
mass lies below the pair's point. A thread then holds the same numbers of all samples' rows of a
head, so that their sum crosses no thread.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_float32, as_operand, head_base, row_offsets, sequence_length
from gpu_kernels.partial_results import (
    end_program,
    end_split,
    nothing_yet,
    splits_of_program,
    store_nothing,
)
from gpu_kernels.random_offsets import step_and_layer, uniform_offsets
from gpu_kernels.tile_scores import load_queries, load_tile

UNIT = tl.constexpr(2.0**-23)
SLACK = tl.constexpr(16.0)


@triton.jit
def fixed_point(u):
    """Return round(u·2^23) for u in [0, 1] as int32: the mantissa of 1 + u; 0 for NaN."""
    return (1.0 + tl.maximum(u, 0.0)).to(tl.int32, bitcast=True) - 0x3F800000


@triton.jit
def of_heads(value, HEADS: tl.constexpr):
    """Return a value per column, [columns] or [columns, samples], as one per head.

    Columns from HEADS on only pad the product and must hold zeros.
    """
    COLUMNS: tl.constexpr = value.shape[0]
    if COLUMNS > HEADS:
        if len(value.shape) == 1:
            value = tl.sum(tl.reshape(value, [COLUMNS // HEADS, HEADS]), 0)
        else:
            value = tl.sum(tl.reshape(value, [COLUMNS // HEADS, HEADS, value.shape[1]]), 0)
    return value


@triton.jit
def draw_in_tile(s, mine, seed, step_layer, batch, stream, tile, turn, budget,
                 COLUMNS: tl.constexpr, HEADS: tl.constexpr, BLOCK_N: tl.constexpr,
                 SAMPLES: tl.constexpr):
    """Return (place in the tile [HEADS, SAMPLES], tile's maximum [HEADS], tile's mass [HEADS]).

    s: float32 [BLOCK_N, COLUMNS], −inf where there is no key. Weights are counted in units of
    2^-23 of the largest (2^-22 in tiles of 256, whose sum would leave int32): integer sums do not
    depend on their order and never fall, so that a key of weight 0 is never the first to reach a
    point.
    """
    peak = tl.max(s, 0)
    u = fixed_point(tl.exp2(s - tl.where(peak == float("-inf"), 0.0, peak)[None, :]))
    unit = UNIT
    if BLOCK_N > 128:
        u = u >> 1
        unit = UNIT * 2
    mass = tl.where(mine, tl.sum(u, 0), 0)
    sample = turn * SAMPLES + tl.arange(0, SAMPLES)[None, :]
    offset = uniform_offsets(seed, step_layer, batch, stream, stream * 0 + tile)
    share = tl.minimum((sample + 1 - offset[:, None]) / budget, 1.0)
    reach = tl.minimum(tl.ceil(share * mass[:, None]).to(tl.int32), mass[:, None])
    reach = tl.maximum(reach, 1)
    u = tl.broadcast_to(u[:, :, None], [BLOCK_N, COLUMNS, SAMPLES])
    first = (tl.arange(0, BLOCK_N) == 0)[:, None, None]
    # counted from −reach, a running mass below the point is one with its sign bit set
    short = tl.cumsum(tl.where(first, u - reach[None, :, :], u), 0)
    place = tl.sum(short.to(tl.uint32, bitcast=True) >> 31, 0).to(tl.int32)
    place = of_heads(tl.where(mine[:, None], place, 0), HEADS)
    peak = of_heads(tl.where(mine, peak, 0.0), HEADS)
    return place, peak, of_heads(mass, HEADS).to(tl.float32) * unit


# plans differ in these: no other code for 1 or for multiples of 16
@triton.jit(do_not_specialize=("splits", "splits_per_program"))
def flash_kernel(
    q_ptr, k_ptr, v_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr, state_ptr,
    part_ptr, max_ptr, sum_ptr, v_scale_ptr, out_ptr, lse_ptr, rows_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_h,
    v_stride_0, v_stride_h, log2_scale, samples, rows_per_head, layer, splits,
    splits_per_program,
    K_STRIDE_N: tl.constexpr, V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, COLUMNS: tl.constexpr,
    SAMPLES: tl.constexpr, SHARED: tl.constexpr,
    SPLITS_PER_RESULT: tl.constexpr, PDL: tl.constexpr,
):
    """Find part = Σ_t 2^(m_t − m)·ℓ_t·(mean of tile t's drawn rows), sum = Σ_t 2^(m_t − m)·ℓ_t.

    In tile t of BLOCK_N keys with budget S_t = max(1, ⌊samples/T⌋), sample j draws the first row
    whose running mass reaches (j + 1 − a)/S_t of ℓ_t, a the tile's offset. A budget above SAMPLES
    is drawn in several passes over the tile. m is at most SLACK below the split's maximum: sums
    are rescaled only when a tile rises further than that.
    SPLITS_PER_RESULT neighbouring splits are added; splits_per_program is a multiple of it.
    Grid (KVH·BLOCKS, ⌈splits/splits_per_program⌉, B). part: float32 [B·H, results, d]; max, sum:
    float32 [B·H, results]; v_scale, out, lse: as `merge_kernel`'s, if a program's only result
    covers its sequence, else None; rows: int32 [B·H, rows_per_head] or None, row t·S_t + j gets
    what sample j of tile t drew.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    kv_head = tl.program_id(0) // BLOCKS
    batch = tl.program_id(2)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    heads = tl.num_programs(0) // BLOCKS * group
    block_first = tl.program_id(0) % BLOCKS * HEADS
    first_head = kv_head * group + block_first
    member = tl.arange(0, HEADS)
    of_group = block_first + member < group
    flat_head = (batch * heads + first_head + member).to(tl.int64)
    slot = flat_head * tl.cdiv(splits, SPLITS_PER_RESULT)

    tiles = tl.cdiv(length, BLOCK_N)
    split, first, last, per_split, empty, end = splits_of_program(tiles, splits,
                                                                  splits_per_program)
    store_nothing(max_ptr, slot, empty, end, of_group, out_ptr, lse_ptr, flat_head, HEAD_DIM,
                  BLOCK_D, SPLITS_PER_RESULT)
    if first >= last:
        return
    budget = tl.maximum(samples // tiles, 1)
    passes = tl.cdiv(budget, SAMPLES)

    column = tl.arange(0, COLUMNS)
    mine = (column < HEADS) & (block_first + column < group)
    head = first_head + column
    seed = tl.load(state_ptr)
    step_layer = step_and_layer(state_ptr, layer)
    stream = head
    if SHARED:
        stream = head * 0 + kv_head
    q = load_queries(q_ptr, batch, head, mine, q_stride_b, q_stride_h, HEAD_DIM, BLOCK_D)
    if k_scale_ptr is not None:
        log2_scale *= tl.load(k_scale_ptr + kv_head)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, PAGE_SIZE)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, PAGE_SIZE)
    dims = tl.arange(0, BLOCK_D)
    inside = (dims < HEAD_DIM)[None, None, :]
    key = tl.arange(0, BLOCK_N)
    peak, total, acc = nothing_yet(tl.zeros([HEADS, BLOCK_D], tl.float32))
    # a drawn row is loaded in one pass and added in the next: the wait for it overlaps with scores
    weight = tl.zeros([HEADS], tl.float32)
    drawn = tl.zeros([HEADS, SAMPLES, BLOCK_D], v_ptr.dtype.element_ty)
    group_top, group_total, in_group = nothing_yet(acc)
    span_top, span_total, in_span = nothing_yet(acc)
    edge = (first + per_split) * passes
    for index in tl.range(first * passes, last * passes):
        tile = index // passes
        turn = index % passes
        k = load_tile(k_base, indptr_ptr, indices_ptr, batch, tile * BLOCK_N, length, k_stride_0,
                      K_STRIDE_N, PAGE_SIZE, HEAD_DIM, BLOCK_N, BLOCK_D, False)
        s = tl.dot(as_operand(k, q_ptr), q, input_precision="ieee") * log2_scale
        s = tl.where((tile * BLOCK_N + key < length)[:, None], s, float("-inf"))
        place, tile_peak, mass = draw_in_tile(
            s, mine, seed, step_layer, batch, stream, tile, turn, budget, COLUMNS, HEADS, BLOCK_N,
            SAMPLES)

        acc = tl.fma(tl.sum(as_float32(drawn), 1), weight[:, None] + tl.zeros_like(acc), acc)
        if index == edge:
            split, group_top, group_total, in_group, span_top, span_total, in_span = end_split(
                split, peak, total, acc, group_top, group_total, in_group, span_top, span_total,
                in_span, part_ptr, max_ptr, sum_ptr, slot, of_group, HEAD_DIM, SPLITS_PER_RESULT)
            peak, total, acc = nothing_yet(acc)
            edge += per_split * passes
        rise = tl.where(tile_peak > peak + SLACK, tile_peak, peak)
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        if tl.max((rise > peak).to(tl.int32), 0) > 0:
            fade = tl.exp2(peak - shift)
            acc *= fade[:, None]
            total *= fade
        peak = rise
        share = tl.exp2(tile_peak - shift) * mass
        total += tl.where(turn == 0, share, 0.0)
        weight = share / budget
        sample = turn * SAMPLES + tl.arange(0, SAMPLES)[None, :]
        picked = (of_group & (mass > 0))[:, None] & (sample < budget)
        chosen = tile * BLOCK_N + place
        offsets = row_offsets(chosen, picked, indptr_ptr, indices_ptr, batch, v_stride_0,
                              V_STRIDE_N, PAGE_SIZE)
        drawn = tl.load(v_base + offsets[:, :, None] + dims[None, None, :],
                        picked[:, :, None] & inside, other=0.0)
        if rows_ptr is not None:
            tl.store(rows_ptr + flat_head[:, None] * rows_per_head + tile * budget + sample,
                     chosen, picked)
    acc = tl.fma(tl.sum(as_float32(drawn), 1), weight[:, None] + tl.zeros_like(acc), acc)
    end_program(split, peak, total, acc, group_top, group_total, in_group, span_top, span_total,
                in_span, part_ptr, max_ptr, sum_ptr, slot, of_group, v_scale_ptr, out_ptr, lse_ptr,
                kv_head, flat_head, HEAD_DIM, SPLITS_PER_RESULT)
