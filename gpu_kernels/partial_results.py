"""Merging what the splits of a sequence found, as FlashDecoding does; always in split order.

The order of sums never depends on who computes them: `fold` adds the splits of a group one after
the other, then the groups of a span, in the kernel or in the merge; then come the spans.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from gpu_kernels.launch import dependent_launch
from gpu_kernels.merge_plan import DIMS, merge_plan, results_of
from gpu_kernels.split_plan import GROUP, SPAN

if TYPE_CHECKING:
    import torch

    from gpu_kernels.request import DecodeRequest
    from gpu_kernels.split_plan import LaunchPlan


DIMS_PER_PROGRAM = tl.constexpr(DIMS)
GROUP_SPLITS = tl.constexpr(GROUP)
SPAN_SPLITS = tl.constexpr(SPAN)


@triton.jit
def splits_of_program(tiles, splits, splits_per_program):
    """Return (first split, first tile, last tile + 1, tiles per split, first empty split, end).

    The program of grid row program_id(1) reads splits first … end − 1; those from the first empty
    one on have no tile.
    """
    per_split = tl.maximum(tl.cdiv(tiles, splits), 1)
    split = tl.program_id(1) * splits_per_program
    end = tl.minimum(split + splits_per_program, splits)
    last = tl.minimum(end * per_split, tiles)
    empty = tl.maximum(split, tl.cdiv(last, per_split))
    return split, split * per_split, last, per_split, empty, end


@triton.jit
def fold(top, total, acc, peak, part_sum, part):
    """Add one split's (peak, sum, part) to a group's running (top, total, acc); [R], [R], [R, D].

    A split of peak −inf counts nothing. Multiply-adds are explicit, so that every kernel rounds
    alike; the first split of a group passes unchanged.
    """
    filled = peak > float("-inf")
    rise = tl.maximum(top, peak)
    shift = tl.where(rise == float("-inf"), 0.0, rise)
    fade = tl.exp2(top - shift)
    weight = tl.exp2(peak - shift)
    total = tl.fma(tl.where(filled, part_sum, 0.0), weight, total * fade)
    part = tl.where(filled[:, None], part, 0.0)
    acc = tl.fma(part, tl.broadcast_to(weight[:, None], part.shape), acc * fade[:, None])
    return rise, total, acc


@triton.jit
def nothing_yet(acc):
    """Return (top, total, acc) of no split at all: [R], [R] and [R, D] as `acc`."""
    none = tl.zeros([acc.shape[0]], tl.float32)
    return none - float("inf"), none, tl.zeros(acc.shape, tl.float32)


@triton.jit
def end_split(
    split, peak, total, acc, group_top, group_total, group, span_top, span_total, span,
    part_ptr, max_ptr, sum_ptr, slot, mine,
    HEAD_DIM: tl.constexpr, SPLITS_PER_RESULT: tl.constexpr,
):
    """Add split number `split` to its group, a full group to its span, and store what is full.

    Returns the number of the next split and the group and the span to go on with. slot: int64 [R],
    index of a head's first result; mine: which rows are heads.
    """
    group_top, group_total, group = fold(group_top, group_total, group, peak, total, acc)
    split += 1
    if SPLITS_PER_RESULT < SPAN_SPLITS:
        if split % SPLITS_PER_RESULT == 0:
            store_result(group_top, group_total, group, part_ptr, max_ptr, sum_ptr,
                         slot + split // SPLITS_PER_RESULT - 1, mine, HEAD_DIM)
            group_top, group_total, group = nothing_yet(acc)
    elif split % GROUP_SPLITS == 0:
        span_top, span_total, span = fold(span_top, span_total, span, group_top, group_total,
                                          group)
        group_top, group_total, group = nothing_yet(acc)
        if split % SPAN_SPLITS == 0:
            store_result(span_top, span_total, span, part_ptr, max_ptr, sum_ptr,
                         slot + split // SPAN_SPLITS - 1, mine, HEAD_DIM)
            span_top, span_total, span = nothing_yet(acc)
    return split, group_top, group_total, group, span_top, span_total, span


@triton.jit
def end_program(
    split, peak, total, acc, group_top, group_total, group, span_top, span_total, span,
    part_ptr, max_ptr, sum_ptr, slot, mine, v_scale_ptr, out_ptr, lse_ptr, kv_head, flat_head,
    HEAD_DIM: tl.constexpr, SPLITS_PER_RESULT: tl.constexpr,
):
    """Add a program's last split and store what it belongs to.

    out_ptr: [B·H, d] if the program's only result covers the sequence, so that there is nothing
    to merge; else None. flat_head: int64 [R], the heads' rows in out.
    """
    group_top, group_total, group = fold(group_top, group_total, group, peak, total, acc)
    if SPLITS_PER_RESULT == SPAN_SPLITS:
        group_top, group_total, group = fold(span_top, span_total, span, group_top, group_total,
                                             group)
    if out_ptr is None:
        store_result(group_top, group_total, group, part_ptr, max_ptr, sum_ptr,
                     slot + split // SPLITS_PER_RESULT, mine, HEAD_DIM)
    else:
        dims = tl.arange(0, acc.shape[1])
        scale = over_total(group_total, v_scale_ptr, kv_head)
        tl.store(out_ptr + flat_head[:, None] * HEAD_DIM + dims[None, :], group * scale[:, None],
                 mine[:, None] & (dims < HEAD_DIM)[None, :])
        if lse_ptr is not None:
            tl.store(lse_ptr + flat_head, log2_sum(group_top, group_total), mine)


@triton.jit
def store_result(top, total, acc, part_ptr, max_ptr, sum_ptr, place, mine, HEAD_DIM: tl.constexpr):
    """Store one result of every head where `mine`; place: int64 [R], its index in max and sum."""
    tl.store(max_ptr + place, top, mine)
    tl.store(sum_ptr + place, total, mine)
    dims = tl.arange(0, acc.shape[1])
    tl.store(part_ptr + place[:, None] * HEAD_DIM + dims[None, :], acc,
             mine[:, None] & (dims < HEAD_DIM)[None, :])


@triton.jit
def store_nothing(
    max_ptr, slot, empty, end, mine, out_ptr, lse_ptr, flat_head,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, SPLITS_PER_RESULT: tl.constexpr,
):
    """Store that splits `empty` … `end` − 1 of a program have no tile.

    A result counts as empty if its first split does. With `out_ptr` (as in `end_program`) a
    sequence without any key gets zeros and −inf.
    """
    if out_ptr is None:
        for nothing in range(tl.cdiv(empty, SPLITS_PER_RESULT), tl.cdiv(end, SPLITS_PER_RESULT)):
            tl.store(max_ptr + slot + nothing, float("-inf"), mine)
    elif empty == 0:
        dims = tl.arange(0, BLOCK_D)
        zero = tl.zeros([slot.shape[0], BLOCK_D], tl.float32)
        tl.store(out_ptr + flat_head[:, None] * HEAD_DIM + dims[None, :], zero,
                 mine[:, None] & (dims < HEAD_DIM)[None, :])
        if lse_ptr is not None:
            tl.store(lse_ptr + flat_head, float("-inf"), mine)


@triton.jit
def over_total(total, v_scale_ptr, kv_head):
    """Return v_scale/total, which turns weighted rows' sum into their mean; 0 if nothing weighs."""
    scale = tl.where(total > 0, 1.0 / tl.where(total > 0, total, 1.0), 0.0)
    if v_scale_ptr is not None:
        scale *= tl.load(v_scale_ptr + kv_head)
    return scale


@triton.jit
def log2_sum(top, total):
    """Return log2 of a sum of weights Σ 2^s = total·2^top; −inf without any."""
    return tl.where(total > 0, top + tl.log2(tl.where(total > 0, total, 1.0)), float("-inf"))


# plans differ in it: no other code for 1 or for multiples of 16
@triton.jit(do_not_specialize=("results",))
def merge_kernel(part_ptr, max_ptr, sum_ptr, v_scale_ptr, out_ptr, lse_ptr, results, group,
                 HEAD_DIM: tl.constexpr, BLOCK_S: tl.constexpr, PDL: tl.constexpr,
                 MEMBERS: tl.constexpr = 1):
    """Find out = Σ_s part_s·2^(m_s − m*) / Σ_s z_s·2^(m_s − m*) for one query head of one sequence.

    Grid (H, B, ⌈d/32⌉). part: float32 [B·H, results, d]; max, sum: float32 [B·H, results],
    m_s = −inf for a result without mass, whose part and sum do not count; MEMBERS: results that
    make up a span: 1, 4 groups or 16 splits; v_scale: float32 [KVH] or None; out: [B·H, d];
    lse: float32 [B·H], m* + log2 Z, or None. Without any mass: zeros and −inf.
    Source: Dao et al., Flash-Decoding (2023).
    """
    if PDL:
        tl.extra.cuda.gdc_wait()
    head = (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)).to(tl.int64)
    dims = tl.program_id(2) * DIMS_PER_PROGRAM + tl.arange(0, DIMS_PER_PROGRAM)
    piece = tl.arange(0, BLOCK_S)
    top = float("-inf")
    total = 0.0
    acc = tl.zeros([DIMS_PER_PROGRAM], tl.float32)
    IN_GROUP: tl.constexpr = (MEMBERS + GROUP_SPLITS - 1) // GROUP_SPLITS
    for start in range(0, tl.cdiv(results, MEMBERS), BLOCK_S):
        # 64 bits from here on, so that a member's distance is a constant of its load
        first = head * results + (start + piece).to(tl.int64) * MEMBERS
        left = results - (start + piece) * MEMBERS
        peaks, sums, rows = nothing_yet(tl.zeros([BLOCK_S, DIMS_PER_PROGRAM], tl.float32))
        # unrolled: all loads are under way at once, instead of one round to memory after the other
        for group_of_span in tl.static_range(MEMBERS // IN_GROUP):
            group_peak, group_sum, group_rows = nothing_yet(rows)
            for split_of_group in tl.static_range(IN_GROUP):
                inside = left > group_of_span * IN_GROUP + split_of_group
                index = first + (group_of_span * IN_GROUP + split_of_group)
                peak = tl.load(max_ptr + index, inside, other=float("-inf"))
                part_sum = tl.load(sum_ptr + index, inside, other=0.0)
                part = tl.load(part_ptr + index[:, None] * HEAD_DIM + dims[None, :],
                               inside[:, None] & (dims < HEAD_DIM)[None, :], other=0.0)
                group_peak, group_sum, group_rows = fold(group_peak, group_sum, group_rows, peak,
                                                         part_sum, part)
            peaks, sums, rows = fold(peaks, sums, rows, group_peak, group_sum, group_rows)
        rise = tl.maximum(top, tl.max(peaks, 0))
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        fade = tl.exp2(top - shift)
        weight = tl.exp2(peaks - shift)
        total = total * fade + tl.sum(sums * weight, 0)
        acc = acc * fade + tl.sum(rows * weight[:, None], 0)
        top = rise
    scale = over_total(total, v_scale_ptr, tl.program_id(0) // group)
    tl.store(out_ptr + head * HEAD_DIM + dims, acc * scale, dims < HEAD_DIM)
    if lse_ptr is not None:  # noqa: SIM102 - known when compiling; the part of d is not
        if tl.program_id(2) == 0:
            tl.store(lse_ptr + head, log2_sum(top, total))


def partial_shapes(
    request: DecodeRequest, results: int
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Return (shape, dtype) of part, max and sum, for `Workspace.cut`."""
    import torch

    heads = request.batch * request.num_qo_heads
    return [
        ((heads, results, request.head_dim), torch.float32),
        ((heads, results), torch.float32),
        ((heads, results), torch.float32),
    ]


def answer_arguments(
    request: DecodeRequest, plan: LaunchPlan, out: torch.Tensor, lse: torch.Tensor | None
) -> dict[str, torch.Tensor | None]:
    """Return the arguments of a kernel whose programs give the answer themselves, if they do.

    A program whose only result covers its sequence does; all None where results are to be merged.
    """
    if results_of(plan) > 1:
        return dict.fromkeys(("v_scale_ptr", "out_ptr", "lse_ptr"))
    return {"v_scale_ptr": request.v_scale, "out_ptr": out, "lse_ptr": lse}


def merge_splits(
    request: DecodeRequest, parts: list[torch.Tensor], out: torch.Tensor, lse: torch.Tensor | None,
    plan: LaunchPlan | None = None,
) -> None:
    """Merge the results into out [B, H, d] and, if given, lse [B, H] (base 2).

    plan: of the kernel that wrote them, if it adds splits by groups and spans.
    """
    part, peaks, sums = parts
    results = peaks.shape[1]
    chosen = merge_plan(request, results, plan)
    merge_kernel[chosen.grid](
        part, peaks, sums, request.v_scale, out, lse, results, request.group,
        HEAD_DIM=request.head_dim, BLOCK_S=chosen.block_s, MEMBERS=chosen.members,
        num_warps=chosen.num_warps, **dependent_launch(request.q.device),
    )
