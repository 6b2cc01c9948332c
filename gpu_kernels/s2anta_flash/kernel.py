"""Triton kernel of `s2anta_flash` over one split of one sequence.

Row r of every block is one (head, sample) pair, r = head·SAMPLES + sample: the ≥ 16 rows that a
tensor-core product has anyway hold copies of each query, so that every pair finds its own row of
the cache without talking to another.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_float32, as_operand, head_base, row_offsets, sequence_length
from gpu_kernels.random_offsets import step_and_layer, uniform_offsets


@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr, state_ptr,
    part_ptr, max_ptr, sum_ptr, rows_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_n, k_stride_h,
    v_stride_0, v_stride_n, v_stride_h, log2_scale, samples, rows_per_head, layer,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
    SAMPLES: tl.constexpr, SHARED: tl.constexpr,
):
    """Find part = Σ_t 2^(m_t − m)·ℓ_t·(mean of tile t's drawn rows), sum = Σ_t 2^(m_t − m)·ℓ_t.

    In tile t of BLOCK_N keys with budget S_t = max(1, ⌊samples/T⌋), sample j draws the first row
    whose running mass reaches (j + 1 − a)/S_t of ℓ_t, a the tile's offset. A budget above SAMPLES
    is drawn in several passes over the tile. Grid (KVH·BLOCKS, splits, B).
    part: float32 [B·H, splits, d]; max, sum: float32 [B·H, splits]; rows: int32
    [B·H, rows_per_head] or None, row t·S_t + j gets what sample j of tile t drew.
    """
    kv_head = tl.program_id(0) // BLOCKS
    split, splits, batch = tl.program_id(1), tl.num_programs(1), tl.program_id(2)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    row = tl.arange(0, ROWS)
    block_head = row // SAMPLES
    member = tl.program_id(0) % BLOCKS * HEADS + block_head
    head = kv_head * group + member
    mine = (block_head < HEADS) & (member < group)
    heads = tl.num_programs(0) // BLOCKS * group
    flat_head = (batch * heads + head).to(tl.int64)
    dims = tl.arange(0, BLOCK_D)
    column = (dims < HEAD_DIM)[None, :]

    tiles = tl.cdiv(length, BLOCK_N)
    per_split = tl.cdiv(tiles, splits)
    first = split * per_split
    last = tl.minimum(first + per_split, tiles)
    slot = flat_head * splits + split
    if first >= last:
        tl.store(max_ptr + slot, float("-inf"), mine)
        return
    budget = tl.maximum(samples // tiles, 1)
    passes = tl.cdiv(budget, SAMPLES)

    seed = tl.load(state_ptr)
    step_layer = step_and_layer(state_ptr, layer)
    stream = head
    if SHARED:
        stream = head * 0 + kv_head
    q_rows = q_ptr + batch.to(tl.int64) * q_stride_b + head * q_stride_h
    q = tl.load(q_rows[:, None] + dims[None, :], mine[:, None] & column, other=0.0)
    q = as_operand(q, q_ptr)
    if k_scale_ptr is not None:
        log2_scale *= tl.load(k_scale_ptr + kv_head)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, PAGE_SIZE)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, PAGE_SIZE)
    key = tl.arange(0, BLOCK_N)
    peak = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, BLOCK_D], tl.float32)
    # a drawn row is loaded in one pass and added in the next: the wait for it overlaps with scores
    weight = tl.zeros([ROWS], tl.float32)
    drawn = tl.zeros([ROWS, BLOCK_D], v_ptr.dtype.element_ty)
    for index in tl.range(first * passes, last * passes):
        tile = index // passes
        turn = index % passes
        keys = tile * BLOCK_N + key
        live = keys < length
        offsets = row_offsets(keys, live, indptr_ptr, indices_ptr, batch, k_stride_0, k_stride_n,
                              PAGE_SIZE)
        k = tl.load(k_base + offsets[:, None] + dims[None, :], live[:, None] & column, other=0.0)
        s = tl.dot(q, tl.trans(as_operand(k, q_ptr)), input_precision="ieee") * log2_scale
        s = tl.where(live[None, :], s, float("-inf"))
        tile_peak = tl.max(s, 1)
        u = tl.exp2(s - tl.where(tile_peak == float("-inf"), 0.0, tile_peak)[:, None])
        # a parallel prefix sum can fall by a rounding error: rows of mass 0 must not profit
        running = tl.where(u > 0, tl.cumsum(u, 1), 0.0)
        mass = tl.max(running, 1)
        sample = turn * SAMPLES + row % SAMPLES
        offset = uniform_offsets(seed, step_layer, batch, stream, row * 0 + tile)
        reach = tl.minimum((sample + 1 - offset) / budget, 1.0) * mass
        place = tl.min(tl.where(running >= reach[:, None], key[None, :], BLOCK_N - 1), 1)

        acc += as_float32(drawn) * weight[:, None]
        rise = tl.maximum(peak, tile_peak)
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        fade = tl.exp2(peak - shift)
        share = tl.exp2(tile_peak - shift) * mass
        acc *= fade[:, None]
        total = total * fade + tl.where(turn == 0, share, 0.0)
        peak = rise
        picked = mine & (sample < budget) & (mass > 0)
        weight = tl.where(picked, share / budget, 0.0)
        chosen = tile * BLOCK_N + place
        offsets = row_offsets(chosen, picked, indptr_ptr, indices_ptr, batch, v_stride_0,
                              v_stride_n, PAGE_SIZE)
        drawn = tl.load(v_base + offsets[:, None] + dims[None, :], picked[:, None] & column,
                        other=0.0)
        if rows_ptr is not None:
            tl.store(rows_ptr + flat_head * rows_per_head + tile * budget + sample, chosen, picked)
    acc += as_float32(drawn) * weight[:, None]

    # the copies of one head agree in maximum and sum; their drawn rows add up
    lead = mine & (row % SAMPLES == 0)
    tl.store(max_ptr + slot, peak, lead)
    tl.store(sum_ptr + slot, total, lead)
    summed = tl.sum(tl.reshape(acc, [ROWS // SAMPLES, SAMPLES, BLOCK_D]), 1)
    block_head = tl.arange(0, ROWS // SAMPLES)
    member = tl.program_id(0) % BLOCKS * HEADS + block_head
    mine = (block_head < HEADS) & (member < group)
    slot = (batch * heads + kv_head * group + member).to(tl.int64) * splits + split
    tl.store(part_ptr + slot[:, None] * HEAD_DIM + dims[None, :], summed, mine[:, None] & column)
