"""Merging what the splits of a sequence found, as FlashDecoding does; always in split order.

The order of sums never depends on who computes them: splits of a group one after the other with
`fold`, in the kernel or in the merge, then the groups.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from gpu_kernels.launch import dependent_launch
from gpu_kernels.split_plan import GROUP, next_power_of_two

if TYPE_CHECKING:
    import torch

    from gpu_kernels.request import DecodeRequest
    from gpu_kernels.split_plan import LaunchPlan


DIMS = 32
"""Numbers of a head that one program merges: few, because a single sequence has few heads."""
DIMS_PER_PROGRAM = tl.constexpr(DIMS)


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
def store_result(top, total, acc, part_ptr, max_ptr, sum_ptr, place, mine, HEAD_DIM: tl.constexpr):
    """Store one result of every head where `mine`; place: int64 [R], its index in max and sum."""
    tl.store(max_ptr + place, top, mine)
    tl.store(sum_ptr + place, total, mine)
    dims = tl.arange(0, acc.shape[1])
    tl.store(part_ptr + place[:, None] * HEAD_DIM + dims[None, :], acc,
             mine[:, None] & (dims < HEAD_DIM)[None, :])


# plans differ in these two: no other code for 1 or for multiples of 16
@triton.jit(do_not_specialize=("results", "per_group"))
def merge_kernel(part_ptr, max_ptr, sum_ptr, v_scale_ptr, out_ptr, lse_ptr, results, group,
                 HEAD_DIM: tl.constexpr, BLOCK_S: tl.constexpr, PDL: tl.constexpr,
                 per_group=1, FOLD: tl.constexpr = 1):
    """Find out = Σ_s part_s·2^(m_s − m*) / Σ_s z_s·2^(m_s − m*) for one query head of one sequence.

    Grid (H, B, ⌈d/32⌉). part: float32 [B·H, results, d]; max, sum: float32 [B·H, results],
    m_s = −inf for a result without mass, whose part and sum do not count; per_group ≤ FOLD
    neighbouring results are added first; v_scale: float32 [KVH] or None; out: [B·H, d];
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
    for start in range(0, tl.cdiv(results, per_group), BLOCK_S):
        peaks = tl.full([BLOCK_S], float("-inf"), tl.float32)
        sums = tl.zeros([BLOCK_S], tl.float32)
        rows = tl.zeros([BLOCK_S, DIMS_PER_PROGRAM], tl.float32)
        # unrolled: all loads are under way at once, instead of one round to memory after the other
        for member in tl.static_range(FOLD):
            result = (start + piece) * per_group + member
            inside = (piece * 0 + member < per_group) & (result < results)
            index = head * results + result
            peak = tl.load(max_ptr + index, inside, other=float("-inf"))
            part_sum = tl.load(sum_ptr + index, inside, other=0.0)
            part = tl.load(part_ptr + index[:, None] * HEAD_DIM + dims[None, :],
                           inside[:, None] & (dims < HEAD_DIM)[None, :], other=0.0)
            peaks, sums, rows = fold(peaks, sums, rows, peak, part_sum, part)
        rise = tl.maximum(top, tl.max(peaks, 0))
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        fade = tl.exp2(top - shift)
        weight = tl.exp2(peaks - shift)
        total = total * fade + tl.sum(sums * weight, 0)
        acc = acc * fade + tl.sum(rows * weight[:, None], 0)
        top = rise
    scale = tl.where(total > 0, 1.0 / tl.where(total > 0, total, 1.0), 0.0)
    if v_scale_ptr is not None:
        scale *= tl.load(v_scale_ptr + tl.program_id(0) // group)
    tl.store(out_ptr + head * HEAD_DIM + dims, acc * scale, dims < HEAD_DIM)
    if lse_ptr is not None:  # noqa: SIM102 - known when compiling; the part of d is not
        if tl.program_id(2) == 0:
            log_sum = top + tl.log2(tl.where(total > 0, total, 1.0))
            tl.store(lse_ptr + head, tl.where(total > 0, log_sum, float("-inf")))


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


def results_of(plan: LaunchPlan) -> int:
    """Return how many results a plan's programs store per head."""
    return -(-plan.splits // plan.splits_per_result)


def merge_splits(
    request: DecodeRequest, parts: list[torch.Tensor], out: torch.Tensor, lse: torch.Tensor | None,
    plan: LaunchPlan | None = None,
) -> None:
    """Merge the results into out [B, H, d] and, if given, lse [B, H] (base 2).

    plan: of the kernel that wrote them, if it adds splits by groups.
    """
    part, peaks, sums = parts
    results = peaks.shape[1]
    per_group = 1 if plan is None else GROUP // plan.splits_per_result
    groups = -(-results // per_group)
    merge_kernel[(request.num_qo_heads, request.batch, -(-request.head_dim // DIMS))](
        part, peaks, sums, request.v_scale, out, lse, results, request.group,
        HEAD_DIM=request.head_dim, BLOCK_S=min(64, next_power_of_two(groups)),
        per_group=per_group, FOLD=1 if plan is None else GROUP, num_warps=4,
        **dependent_launch(request.q.device),
    )
