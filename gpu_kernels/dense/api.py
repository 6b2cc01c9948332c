"""`dense_decode`: exact decode attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.dense.kernel import dense_kernel
from gpu_kernels.dense.plan import plan
from gpu_kernels.launch import cache_arguments, first_launch, value_arguments
from gpu_kernels.merge_plan import results_of
from gpu_kernels.outputs import answer, outputs
from gpu_kernels.page_table import PageTable
from gpu_kernels.partial_results import answer_arguments, merge_splits, partial_shapes
from gpu_kernels.request import check_decode
from gpu_kernels.split_plan import LaunchPlan, device_limits, head_blocks
from gpu_kernels.workspace import Workspace

if TYPE_CHECKING:
    import torch


def dense_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    pages: PageTable | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    return_lse: bool = False,
    out: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
    workspace: Workspace | None = None,
    launch: LaunchPlan | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(q·Kᵀ·sm_scale)·V for one query token per sequence.

    q: [B, H, d]. k, v: [B, n, KVH, d] ("NHD") or [B, KVH, n, d] ("HND"), any strides as long as a
    row's d numbers are contiguous; q's dtype or float8_e4m3fn with k_scale, v_scale: float32
    [KVH]. pages: of a paged cache [pages, page_size, KVH, d] (or HND). seq_lens: int32 [B], keys
    of each sequence, default n. sm_scale: logits per unit of q·k, default 1/√d.
    out, lse: where to write, default new tensors. workspace: scratch to reuse between calls.
    launch: a configuration to use instead of the rule's.

    Returns out [B, H, d] in q's dtype, with `return_lse` also lse float32 [B, H],
    log2 Σ_i exp(s_i). An empty sequence gives zeros and −inf. The result is bitwise repeatable
    and does not depend on the other sequences. Raises `ValueError` naming the argument.
    Source: Dao et al., Flash-Decoding (2023); argument names as FlashInfer.
    """
    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale,
    )
    out, lse = outputs(request, out, lse, return_lse)
    chosen = plan(request, device_limits(q.device)) if launch is None else launch
    heads, blocks = head_blocks(request.group)
    parts = (workspace or Workspace()).cut(partial_shapes(request, results_of(chosen)), q.device)
    dense_kernel[(request.num_kv_heads * blocks, chosen.grid_programs, request.batch)](
        **cache_arguments(request), **value_arguments(request),
        part_ptr=parts[0], max_ptr=parts[1], sum_ptr=parts[2],
        splits=chosen.splits, splits_per_program=chosen.splits_per_program,
        SPLITS_PER_RESULT=chosen.splits_per_result, **answer_arguments(request, chosen, out, lse),
        HEADS=heads, BLOCKS=blocks, BLOCK_N=chosen.block_n, ROWS=max(16, heads),
        num_warps=chosen.num_warps, num_stages=chosen.num_stages, **first_launch(q.device),
    )
    if results_of(chosen) > 1:
        merge_splits(request, parts, out, lse, chosen)
    return answer(out, lse, return_lse)
