"""Triton kernel of exact decode attention over neighbouring splits of one sequence."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand, head_base, sequence_length
from gpu_kernels.partial_results import fold, splits_of_program, store_result
from gpu_kernels.tile_scores import load_tile


# plans differ in these: no other code for 1 or for multiples of 16
@triton.jit(do_not_specialize=("splits", "splits_per_program", "splits_per_result"))
def dense_kernel(
    q_ptr, k_ptr, v_ptr, lens_ptr, indptr_ptr, indices_ptr, k_scale_ptr,
    part_ptr, max_ptr, sum_ptr,
    capacity, group, q_stride_b, q_stride_h, k_stride_0, k_stride_h, v_stride_0, v_stride_h,
    log2_scale, splits, splits_per_program, splits_per_result,
    K_STRIDE_N: tl.constexpr, V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
    PDL: tl.constexpr,
):
    """Find part = Σ_i 2^(s_i − m)·v_i, sum = Σ_i 2^(s_i − m) over each result's keys, m = max s.

    Grid (KVH·BLOCKS, ⌈splits/splits_per_program⌉, B): one block of HEADS ≤ ROWS query heads each,
    ROWS ≥ 16 so that the dot products run on tensor cores. splits_per_result neighbouring splits
    are added; splits_per_program is a multiple of it. part: float32 [B·H, results, d];
    max, sum [B·H, results].
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
    slot = (batch * heads + head).to(tl.int64) * tl.cdiv(splits, splits_per_result)
    dims = tl.arange(0, BLOCK_D)
    column = (dims < HEAD_DIM)[None, :]

    split, first, last, per_split, empty, end = splits_of_program(
        tl.cdiv(length, BLOCK_N), splits, splits_per_program)
    for nothing in range(tl.cdiv(empty, splits_per_result), tl.cdiv(end, splits_per_result)):
        tl.store(max_ptr + slot + nothing, float("-inf"), mine)
    if first >= last:
        return

    q_rows = q_ptr + batch.to(tl.int64) * q_stride_b + head * q_stride_h
    q = tl.load(q_rows[:, None] + dims[None, :], mine[:, None] & column, other=0.0)
    q = as_operand(q, q_ptr)
    if k_scale_ptr is not None:
        log2_scale *= tl.load(k_scale_ptr + kv_head)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, PAGE_SIZE)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, PAGE_SIZE)
    peak = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, BLOCK_D], tl.float32)
    key = tl.arange(0, BLOCK_N)
    top = tl.full([ROWS], float("-inf"), tl.float32)
    mass = tl.zeros([ROWS], tl.float32)
    result = tl.zeros([ROWS, BLOCK_D], tl.float32)
    edge = first + per_split
    for tile in tl.range(first, last):
        if tile == edge:
            top, mass, result = fold(top, mass, result, peak, total, acc)
            split += 1
            if split % splits_per_result == 0:
                place = slot + split // splits_per_result - 1
                store_result(top, mass, result, part_ptr, max_ptr, sum_ptr, place, mine, HEAD_DIM)
                top = tl.full([ROWS], float("-inf"), tl.float32)
                mass = tl.zeros([ROWS], tl.float32)
                result = tl.zeros([ROWS, BLOCK_D], tl.float32)
            peak = tl.full([ROWS], float("-inf"), tl.float32)
            total = tl.zeros([ROWS], tl.float32)
            acc = tl.zeros([ROWS, BLOCK_D], tl.float32)
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

    top, mass, result = fold(top, mass, result, peak, total, acc)
    store_result(top, mass, result, part_ptr, max_ptr, sum_ptr, slot + split // splits_per_result,
                 mine, HEAD_DIM)
