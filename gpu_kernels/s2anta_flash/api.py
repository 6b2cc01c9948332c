"""`s2anta_flash_decode`: read all keys, and in every tile only a few sampled values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.launch import (
    cache_arguments,
    first_launch,
    programs_per_split,
    value_arguments,
)
from gpu_kernels.outputs import answer, outputs
from gpu_kernels.page_table import PageTable
from gpu_kernels.partial_results import (
    answer_arguments,
    merge_splits,
    partial_shapes,
    results_of,
)
from gpu_kernels.random_offsets import random_state, shares_offsets
from gpu_kernels.request import (
    DecodeRequest,
    check_decode,
    check_output,
    check_samples,
    check_tile,
)
from gpu_kernels.s2anta_flash.budget import rows_per_head, tile_budget
from gpu_kernels.s2anta_flash.kernel import flash_kernel
from gpu_kernels.split_plan import (
    DeviceLimits,
    LaunchPlan,
    device_limits,
    head_blocks,
    next_power_of_two,
    programs_per_sm,
    programs_that_fit,
    splits_that_fill,
    stages_that_fit,
)
from gpu_kernels.tile_scores import MIN_COLUMNS
from gpu_kernels.workspace import Workspace

if TYPE_CHECKING:
    import torch

MIN_TILE, DEFAULT_TILE, MAX_TILE = 16, 64, 256
MIN_SPLIT = 256
"""Keys; shorter splits would write more partial results than they are worth."""
RESIDENT = 8
"""Programs per multiprocessor."""
MAX_PAIRS = 32
"""(head, sample) pairs of one product; a larger budget takes more passes over the tile."""


def samples_per_pass(request: DecodeRequest, samples: int, tile: int) -> int:
    """Return how many samples of each head one pass over a tile draws, a power of two."""
    heads, _ = head_blocks(request.group)
    budget = tile_budget(samples, max(1, -(-request.context // tile)))
    return min(next_power_of_two(budget), max(1, MAX_PAIRS // heads))


def plan(request: DecodeRequest, tile: int, limits: DeviceLimits) -> LaunchPlan:
    """Choose warps, stages and splits from the shapes and the device; the tile is the caller's.

    One warp has a whole small tile to itself: no barrier, and a thread scans its keys alone.
    """
    tiles = -(-request.context // tile)
    per_split = programs_per_split(request)
    splits = splits_that_fill(limits, per_split, tiles, RESIDENT, max(1, MIN_SPLIT // tile))
    programs = programs_that_fit(limits, per_split, request.batch, splits, RESIDENT)
    resident = programs_per_sm(limits, per_split * request.batch * programs, RESIDENT)
    # n stages hold n − 1 tiles of every resident program
    stages = stages_that_fit(limits, resident * tile * request.row_bytes, most=2) + 1
    # compiled for sm_120, one warp with 64 keys runs out of registers
    keys_per_warp = 64 if limits.capability < (12, 0) else 32
    return LaunchPlan(tile, max(1, tile // keys_per_warp), stages, splits, programs)


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
