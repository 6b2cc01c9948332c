"""`s2anta_flash_decode`: read all keys, and in every tile only a few sampled values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.launch import cache_arguments, first_launch, value_arguments
from gpu_kernels.merge_plan import results_of
from gpu_kernels.outputs import answer, outputs
from gpu_kernels.page_table import PageTable
from gpu_kernels.partial_results import answer_arguments, merge_splits, partial_shapes
from gpu_kernels.random_offsets import random_state, shares_offsets
from gpu_kernels.request import check_decode, check_output, check_samples, check_tile
from gpu_kernels.s2anta_flash.budget import rows_per_head
from gpu_kernels.s2anta_flash.kernel import flash_kernel
from gpu_kernels.s2anta_flash.plan import DEFAULT_TILE, MAX_TILE, MIN_TILE, plan, samples_per_pass
from gpu_kernels.split_plan import MIN_COLUMNS, LaunchPlan, device_limits, head_blocks
from gpu_kernels.workspace import Workspace

if TYPE_CHECKING:
    import torch


def s2anta_flash_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    samples: int,
    tile: int = DEFAULT_TILE,
    offsets: str = "own",
    seed: int | torch.Tensor = 0,
    step: int | None = None,
    layer: int = 0,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    pages: PageTable | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    return_lse: bool = False,
    out: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
    rows: torch.Tensor | None = None,
    workspace: Workspace | None = None,
    launch: LaunchPlan | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Estimate attention from S_t systematic draws of values in every tile of keys.

    out = Σ_t w_t·(mean of the S_t = max(1, ⌊S/T⌋) rows drawn in tile t), w_t the tile's share of
    the softmax. Unbiased; the effective budget is T·S_t (`budget.effective_samples`).

    samples: S, per query head. tile: keys per tile, a power of two. offsets: "own" per query head
    or "shared" by the heads of a KV head. seed, step, layer: key the draws, as the models';
    seed may be an int64 device tensor (seed, step), read when the kernel runs.
    rows: int32 [B, H, `budget.rows_per_head`], filled with the rows drawn, tile by tile, −1 where
    none. Other arguments, returns and errors as `dense_decode`.
    Source: SANTA, arXiv 2605.01910, section 3.4.
    """
    import torch

    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale,
    )
    check_samples(samples)
    check_tile(tile, MIN_TILE, MAX_TILE)
    shared = shares_offsets(offsets)
    state = random_state(seed, step, layer, q)
    out, lse = outputs(request, out, lse, return_lse)
    most_rows = rows_per_head(samples, tile, request.context)
    if rows is not None:
        check_output("rows", rows, (*q.shape[:2], most_rows), torch.int32, q)
        rows.fill_(-1)
    chosen = plan(request, tile, device_limits(q.device)) if launch is None else launch
    heads, blocks = head_blocks(request.group)
    at_once = samples_per_pass(request, samples, tile)
    parts = (workspace or Workspace()).cut(partial_shapes(request, results_of(chosen)), q.device)
    flash_kernel[(request.num_kv_heads * blocks, chosen.grid_programs, request.batch)](
        **cache_arguments(request), **value_arguments(request),
        state_ptr=state, part_ptr=parts[0], max_ptr=parts[1], sum_ptr=parts[2], rows_ptr=rows,
        samples=samples, rows_per_head=most_rows, layer=layer,
        splits=chosen.splits, splits_per_program=chosen.splits_per_program,
        SPLITS_PER_RESULT=chosen.splits_per_result, **answer_arguments(request, chosen, out, lse),
        HEADS=heads, BLOCKS=blocks, BLOCK_N=tile, COLUMNS=max(MIN_COLUMNS, heads),
        SAMPLES=at_once, SHARED=shared,
        num_warps=chosen.num_warps, num_stages=chosen.num_stages, **first_launch(q.device),
    )
    if results_of(chosen) > 1:
        merge_splits(request, parts, out, lse, chosen)
    return answer(out, lse, return_lse)
