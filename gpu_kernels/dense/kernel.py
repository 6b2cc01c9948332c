"""Triton kernel of exact decode attention over neighbouring splits of one sequence."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand, head_base, sequence_length
from gpu_kernels.partial_results import (
    end_program,
    end_split,
    nothing_yet,
    splits_of_program,
    store_nothing,
)
from gpu_kernels.tile_scores import load_tile


# plans differ in these: no other code for 1 or for multiples of 16
@triton.jit(do_not_specialize=("splits", "splits_per_program"))
def dense_kernel(
    q_ptr, k_ptr, v_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr,
    part_ptr, max_ptr, sum_ptr, v_scale_ptr, out_ptr, lse_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_h, v_stride_0, v_stride_h,
    log2_scale, splits, splits_per_program,
    K_STRIDE_N: tl.constexpr, V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
    SPLITS_PER_RESULT: tl.constexpr, PDL: tl.constexpr,
):
    """Find part = Σ_i 2^(s_i − m)·v_i, sum = Σ_i 2^(s_i − m) over each result's keys, m = max s.

    Grid (KVH·BLOCKS, ⌈splits/splits_per_program⌉, B): one block of HEADS ≤ ROWS query heads each,
    ROWS ≥ 16 so that the dot products run on tensor cores. SPLITS_PER_RESULT neighbouring splits
    are added; splits_per_program is a multiple of it. part: float32 [B·H, results, d];
    max, sum [B·H, results]; v_scale, out, lse: as `merge_kernel`'s, if a program's only result
    covers its sequence, else None.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    kv_head = tl.program_id(0) // BLOCKS
    batch = tl.program_id(2)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    row = tl.arange(0, ROWS)
    member = tl.program_id(0) % BLOCKS * HEADS + row
    head = kv_head * group + member
    mine = (row < HEADS) & (member < group)
    heads = tl.num_programs(0) // BLOCKS * group
    flat_head = (batch * heads + head).to(tl.int64)
    slot = flat_head * tl.cdiv(splits, SPLITS_PER_RESULT)
    dims = tl.arange(0, BLOCK_D)
    column = (dims < HEAD_DIM)[None, :]

    split, first, last, per_split, empty, end = splits_of_program(
        tl.cdiv(length, BLOCK_N), splits, splits_per_program)
    store_nothing(max_ptr, slot, empty, end, mine, out_ptr, lse_ptr, flat_head, HEAD_DIM, BLOCK_D,
                  SPLITS_PER_RESULT)
    if first >= last:
        return

    q_rows = q_ptr + batch.to(tl.int64) * q_stride_b + head * q_stride_h
    q = tl.load(q_rows[:, None] + dims[None, :], mine[:, None] & column, other=0.0)
    q = as_operand(q, q_ptr)
    if k_scale_ptr is not None:
        log2_scale *= tl.load(k_scale_ptr + kv_head)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, PAGE_SIZE)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, PAGE_SIZE)
    peak, total, acc = nothing_yet(tl.zeros([ROWS, BLOCK_D], tl.float32))
    key = tl.arange(0, BLOCK_N)
    group_top, group_total, in_group = nothing_yet(acc)
    span_top, span_total, in_span = nothing_yet(acc)
    edge = first + per_split
    for tile in tl.range(first, last):
        if tile == edge:
            split, group_top, group_total, in_group, span_top, span_total, in_span = end_split(
                split, peak, total, acc, group_top, group_total, in_group, span_top, span_total,
                in_span, part_ptr, max_ptr, sum_ptr, slot, mine, HEAD_DIM, SPLITS_PER_RESULT)
            peak, total, acc = nothing_yet(acc)
            edge += per_split
        start = tile * BLOCK_N
        k = load_tile(k_base, indptr_ptr, indices_ptr, batch, start, length, k_stride_0,
                      K_STRIDE_N, PAGE_SIZE, HEAD_DIM, BLOCK_N, BLOCK_D, False)
        s = tl.dot(q, tl.trans(as_operand(k, q_ptr)), input_precision="ieee") * log2_scale
        s = tl.where((start + key < length)[None, :], s, float("-inf"))
        rise = tl.maximum(peak, tl.max(s, 1))
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        fade = tl.exp2(peak - shift)
        p = tl.exp2(s - shift[:, None])
        total = total * fade + tl.sum(p, 1)
        v = load_tile(v_base, indptr_ptr, indices_ptr, batch, start, length, v_stride_0,
                      V_STRIDE_N, PAGE_SIZE, HEAD_DIM, BLOCK_N, BLOCK_D, False)
        v = as_operand(v, q_ptr)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None], input_precision="ieee")
        peak = rise

    end_program(split, peak, total, acc, group_top, group_total, in_group, span_top, span_total,
                in_span, part_ptr, max_ptr, sum_ptr, slot, mine, v_scale_ptr, out_ptr, lse_ptr,
                kv_head, flat_head, HEAD_DIM, SPLITS_PER_RESULT)
