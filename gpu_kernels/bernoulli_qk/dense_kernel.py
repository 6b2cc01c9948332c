"""`bernoulli_qk` with every value read: softmax of ternary scores over one split of a sequence."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.bernoulli_qk.feature_scores import load_digits, tile_scores
from gpu_kernels.cache_rows import as_operand, head_base, sequence_length
from gpu_kernels.partial_results import splits_of_program
from gpu_kernels.tile_scores import load_tile


@triton.jit
def ternary_dense_kernel(
    q_ptr, k_ptr, v_ptr, lens_ptr, digits_ptr, unit_ptr, k_scale_ptr,
    part_ptr, max_ptr, sum_ptr,
    capacity, group, k_stride_0, k_stride_h, k_stride_d, v_stride_0, v_stride_h,
    splits, splits_per_program, V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr,
    HEADS: tl.constexpr, BLOCKS: tl.constexpr, BLOCK_N: tl.constexpr, ROWS: tl.constexpr,
    PDL: tl.constexpr,
):
    """Find part = Σ_i 2^(ŝ_i − m)·v_i, sum = Σ_i 2^(ŝ_i − m) over each split's keys, m = max ŝ.

    As `dense_kernel`, with digits instead of queries and keys [B, KVH, d, n]. q: only its format
    counts. Grid (KVH·BLOCKS, ⌈splits/splits_per_program⌉, B); digits, unit as `digits_kernel`
    wrote them.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    kv_head = tl.program_id(0) // BLOCKS
    batch = tl.program_id(2)
    length = sequence_length(lens_ptr, None, batch, capacity, 0)
    row = tl.arange(0, ROWS)
    member = tl.program_id(0) % BLOCKS * HEADS + row
    mine = (row < HEADS) & (member < group)
    heads = tl.num_programs(0) // BLOCKS * group
    flat_head = (batch * heads + kv_head * group + member).to(tl.int64)
    slot = flat_head * splits
    dims = tl.arange(0, BLOCK_D)
    column = (dims < HEAD_DIM)[None, :]

    split, first, last, per_split, empty, end = splits_of_program(
        tl.cdiv(length, BLOCK_N), splits, splits_per_program)
    for nothing in range(empty, end):
        tl.store(max_ptr + slot + nothing, float("-inf"), mine)
    if first >= last:
        return

    digits, unit, touched = load_digits(digits_ptr, unit_ptr, flat_head, mine, HEAD_DIM, BLOCK_D)
    if k_scale_ptr is not None:
        unit *= tl.load(k_scale_ptr + kv_head)
    k_base = head_base(k_ptr, batch, kv_head, k_stride_0, k_stride_h, 0)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, 0)
    peak = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, BLOCK_D], tl.float32)
    edge = first + per_split
    for tile in tl.range(first, last):
        if tile == edge:
            tl.store(max_ptr + slot + split, peak, mine)
            tl.store(sum_ptr + slot + split, total, mine)
            tl.store(part_ptr + (slot + split)[:, None] * HEAD_DIM + dims[None, :], acc,
                     mine[:, None] & column)
            peak = tl.full([ROWS], float("-inf"), tl.float32)
            total = tl.zeros([ROWS], tl.float32)
            acc = tl.zeros([ROWS, BLOCK_D], tl.float32)
            edge += per_split
            split += 1
        start = tile * BLOCK_N
        s = tile_scores(k_base, start, length, digits, unit, touched, q_ptr, k_stride_d, BLOCK_N,
                        BLOCK_D)
        rise = tl.maximum(peak, tl.max(s, 1))
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        fade = tl.exp2(peak - shift)
        p = tl.exp2(s - shift[:, None])
        total = total * fade + tl.sum(p, 1)
        v = as_operand(load_tile(v_base, None, None, batch, start, length, v_stride_0, V_STRIDE_N,
                                 0, HEAD_DIM, BLOCK_N, BLOCK_D, False), q_ptr)
        acc = tl.dot(p.to(v.dtype), v, acc * fade[:, None], input_precision="ieee")
        peak = rise

    tl.store(max_ptr + slot + split, peak, mine)
    tl.store(sum_ptr + slot + split, total, mine)
    tl.store(part_ptr + (slot + split)[:, None] * HEAD_DIM + dims[None, :], acc,
             mine[:, None] & column)
