"""Triton kernel of `s2anta_flash` over neighbouring splits of one sequence.

A drawn row belongs to a (head, sample) pair, r = head·SAMPLES + sample: one thread finds it alone,
by counting the keys whose running mass lies below the pair's point.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_float32, as_operand, head_base, row_offsets, sequence_length
from gpu_kernels.partial_results import fold, splits_of_program, store_result
from gpu_kernels.random_offsets import step_and_layer, uniform_offsets
from gpu_kernels.tile_scores import load_queries, load_tile

UNIT = tl.constexpr(2.0**-23)
SLACK = tl.constexpr(16.0)


@triton.jit
def fixed_point(u):
    """Return round(u·2^23) for u in [0, 1] as int32: the mantissa of 1 + u; 0 for NaN."""
    return (1.0 + tl.maximum(u, 0.0)).to(tl.int32, bitcast=True) - 0x3F800000


@triton.jit
def per_pair(value, COLUMNS: tl.constexpr, HEADS: tl.constexpr, SAMPLES: tl.constexpr):
    """Return [COLUMNS, SAMPLES] as [HEADS·SAMPLES]; columns from HEADS on must hold zeros."""
    if COLUMNS > HEADS:
        value = tl.sum(tl.reshape(value, [COLUMNS // HEADS, HEADS, SAMPLES]), 0)
    return tl.reshape(value, [HEADS * SAMPLES])


@triton.jit
def draw_in_tile(s, mine, seed, step_layer, batch, stream, tile, turn, budget,
                 COLUMNS: tl.constexpr, HEADS: tl.constexpr, BLOCK_N: tl.constexpr,
                 SAMPLES: tl.constexpr):
    """Return (place in the tile, tile's maximum, tile's mass) of every (head, sample) pair.

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
    running = tl.cumsum(tl.broadcast_to(u[:, :, None], [BLOCK_N, COLUMNS, SAMPLES]), 0)
    place = tl.sum((running < reach[None, :, :]).to(tl.int32), 0)
    place = tl.where(mine[:, None], place, 0)
    none = tl.zeros([COLUMNS, SAMPLES], tl.float32)
    peak = tl.where(mine, peak, 0.0)[:, None] + none
    mass = mass.to(tl.float32)[:, None] * unit + none
    return (per_pair(place, COLUMNS, HEADS, SAMPLES), per_pair(peak, COLUMNS, HEADS, SAMPLES),
            per_pair(mass, COLUMNS, HEADS, SAMPLES))


@triton.jit
def fold_pairs(top, mass, result, peak, total, acc, HEADS: tl.constexpr, SAMPLES: tl.constexpr):
    """Add a split to the heads' results: the drawn rows of a head's pairs add up.

    The pairs of one head agree in peak and total.
    """
    summed = tl.sum(tl.reshape(acc, [HEADS, SAMPLES, acc.shape[1]]), 1)
    peak = tl.max(tl.reshape(peak, [HEADS, SAMPLES]), 1)
    total = tl.max(tl.reshape(total, [HEADS, SAMPLES]), 1)
    return fold(top, mass, result, peak, total, summed)


# plans differ in these: no other code for 1 or for multiples of 16
@triton.jit(do_not_specialize=("splits", "splits_per_program", "splits_per_result"))
def flash_kernel(
    q_ptr, k_ptr, v_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr, state_ptr,
    part_ptr, max_ptr, sum_ptr, rows_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_h,
    v_stride_0, v_stride_h, log2_scale, samples, rows_per_head, layer, splits,
    splits_per_program, splits_per_result,
    K_STRIDE_N: tl.constexpr, V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, COLUMNS: tl.constexpr,
    SAMPLES: tl.constexpr, SHARED: tl.constexpr, PDL: tl.constexpr,
):
    """Find part = Σ_t 2^(m_t − m)·ℓ_t·(mean of tile t's drawn rows), sum = Σ_t 2^(m_t − m)·ℓ_t.

    In tile t of BLOCK_N keys with budget S_t = max(1, ⌊samples/T⌋), sample j draws the first row
    whose running mass reaches (j + 1 − a)/S_t of ℓ_t, a the tile's offset. A budget above SAMPLES
    is drawn in several passes over the tile. m is at most SLACK below the split's maximum: sums
    are rescaled only when a tile rises further than that.
    splits_per_result neighbouring splits are added; splits_per_program is a multiple of it.
    Grid (KVH·BLOCKS, ⌈splits/splits_per_program⌉, B). part: float32 [B·H, results, d]; max, sum:
    float32 [B·H, results]; rows: int32 [B·H, rows_per_head] or None, row t·S_t + j gets what
    sample j of tile t drew.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    kv_head = tl.program_id(0) // BLOCKS
    batch = tl.program_id(2)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    heads = tl.num_programs(0) // BLOCKS * group
    block_first = tl.program_id(0) % BLOCKS * HEADS
    first_head = kv_head * group + block_first
    row = tl.arange(0, HEADS * SAMPLES)
    paired = block_first + row // SAMPLES < group
    flat_head = (batch * heads + first_head + row // SAMPLES).to(tl.int64)
    member = tl.arange(0, HEADS)
    of_group = block_first + member < group
    slot = (batch * heads + first_head + member).to(tl.int64) * tl.cdiv(splits, splits_per_result)

    tiles = tl.cdiv(length, BLOCK_N)
    split, first, last, per_split, empty, end = splits_of_program(tiles, splits,
                                                                  splits_per_program)
    for nothing in range(tl.cdiv(empty, splits_per_result), tl.cdiv(end, splits_per_result)):
        tl.store(max_ptr + slot + nothing, float("-inf"), of_group)
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
    inside = (dims < HEAD_DIM)[None, :]
    key = tl.arange(0, BLOCK_N)
    peak = tl.full([HEADS * SAMPLES], float("-inf"), tl.float32)
    total = tl.zeros([HEADS * SAMPLES], tl.float32)
    acc = tl.zeros([HEADS * SAMPLES, BLOCK_D], tl.float32)
    # a drawn row is loaded in one pass and added in the next: the wait for it overlaps with scores
    weight = tl.zeros([HEADS * SAMPLES], tl.float32)
    drawn = tl.zeros([HEADS * SAMPLES, BLOCK_D], v_ptr.dtype.element_ty)
    top = tl.full([HEADS], float("-inf"), tl.float32)
    all_mass = tl.zeros([HEADS], tl.float32)
    result = tl.zeros([HEADS, BLOCK_D], tl.float32)
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

        acc += as_float32(drawn) * weight[:, None]
        if index == edge:
            top, all_mass, result = fold_pairs(top, all_mass, result, peak, total, acc, HEADS,
                                               SAMPLES)
            split += 1
            if split % splits_per_result == 0:
                store_result(top, all_mass, result, part_ptr, max_ptr, sum_ptr,
                             slot + split // splits_per_result - 1, of_group, HEAD_DIM)
                top = tl.full([HEADS], float("-inf"), tl.float32)
                all_mass = tl.zeros([HEADS], tl.float32)
                result = tl.zeros([HEADS, BLOCK_D], tl.float32)
            peak = tl.full([HEADS * SAMPLES], float("-inf"), tl.float32)
            total = tl.zeros([HEADS * SAMPLES], tl.float32)
            acc = tl.zeros([HEADS * SAMPLES, BLOCK_D], tl.float32)
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
        sample = turn * SAMPLES + row % SAMPLES
        picked = paired & (sample < budget) & (mass > 0)
        weight = tl.where(picked, share / budget, 0.0)
        chosen = tile * BLOCK_N + place
        offsets = row_offsets(chosen, picked, indptr_ptr, indices_ptr, batch, v_stride_0,
                              V_STRIDE_N, PAGE_SIZE)
        drawn = tl.load(v_base + offsets[:, None] + dims[None, :], picked[:, None] & inside,
                        other=0.0)
        if rows_ptr is not None:
            tl.store(rows_ptr + flat_head * rows_per_head + tile * budget + sample, chosen, picked)
    acc += as_float32(drawn) * weight[:, None]

    top, all_mass, result = fold_pairs(top, all_mass, result, peak, total, acc, HEADS, SAMPLES)
    store_result(top, all_mass, result, part_ptr, max_ptr, sum_ptr,
                 slot + split // splits_per_result, of_group, HEAD_DIM)
