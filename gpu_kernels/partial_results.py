"""Merging what the splits of a sequence found, as FlashDecoding does; always in split order."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from gpu_kernels.launch import dependent_launch
from gpu_kernels.split_plan import next_power_of_two

if TYPE_CHECKING:
    import torch

    from gpu_kernels.request import DecodeRequest


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
def merge_kernel(part_ptr, max_ptr, sum_ptr, v_scale_ptr, out_ptr, lse_ptr, splits, group,
                 HEAD_DIM: tl.constexpr, BLOCK_S: tl.constexpr, PDL: tl.constexpr):
    """Find out = Σ_s part_s·2^(m_s − m*) / Σ_s z_s·2^(m_s − m*) for one query head of one sequence.

    Grid (H, B, ⌈d/32⌉). part: float32 [B·H, splits, d]; max, sum: float32 [B·H, splits],
    m_s = −inf for a split without mass, whose part and sum do not count; v_scale: float32 [KVH]
    or None; out: [B·H, d]; lse: float32 [B·H], m* + log2 Z, or None. Without any mass: zeros and
    −inf.
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
    for start in range(0, splits, BLOCK_S):
        index = head * splits + start + piece
        inside = start + piece < splits
        # all three at once: waiting for the maxima before reading rows costs a round to memory
        peaks = tl.load(max_ptr + index, inside, other=float("-inf"))
        sums = tl.load(sum_ptr + index, inside, other=0.0)
        rows = tl.load(part_ptr + index[:, None] * HEAD_DIM + dims[None, :],
                       inside[:, None] & (dims < HEAD_DIM)[None, :], other=0.0)
        rise = tl.maximum(top, tl.max(peaks, 0))
        shift = tl.where(rise == float("-inf"), 0.0, rise)
        fade = tl.exp2(top - shift)
        filled = peaks > float("-inf")
        weight = tl.exp2(peaks - shift)
        total = total * fade + tl.sum(tl.where(filled, sums, 0.0) * weight, 0)
        acc = acc * fade + tl.sum(tl.where(filled[:, None], rows, 0.0) * weight[:, None], 0)
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
    request: DecodeRequest, splits: int
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Return (shape, dtype) of part, max and sum, for `Workspace.cut`."""
    import torch

    heads = request.batch * request.num_qo_heads
    return [
        ((heads, splits, request.head_dim), torch.float32),
        ((heads, splits), torch.float32),
        ((heads, splits), torch.float32),
    ]


def merge_splits(
    request: DecodeRequest, parts: list[torch.Tensor], out: torch.Tensor, lse: torch.Tensor | None
) -> None:
    """Merge the splits' results into out [B, H, d] and, if given, lse [B, H] (base 2)."""
    part, peaks, sums = parts
    splits = peaks.shape[1]
    merge_kernel[(request.num_qo_heads, request.batch, -(-request.head_dim // DIMS))](
        part, peaks, sums, request.v_scale, out, lse, splits, request.group,
        HEAD_DIM=request.head_dim, BLOCK_S=min(64, next_power_of_two(splits)), num_warps=4,
        **dependent_launch(request.q.device),
    )
