"""`s2anta_prop_decode`: tile budgets in proportion to tile mass, as published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.launch import (
    cache_arguments,
    dependent_launch,
    first_launch,
    value_arguments,
)
from gpu_kernels.outputs import answer, outputs
from gpu_kernels.page_table import PageTable
from gpu_kernels.partial_results import merge_splits, partial_shapes
from gpu_kernels.random_offsets import random_state, shares_offsets
from gpu_kernels.request import check_decode, check_output, check_samples, check_tile
from gpu_kernels.requirement import require
from gpu_kernels.s2anta_prop.budget_kernel import budget_kernel
from gpu_kernels.s2anta_prop.plan import DEFAULT_TILE, MAX_TILES, budget_plan
from gpu_kernels.s2anta_prop.score_kernel import score_kernel
from gpu_kernels.split_plan import (
    MIN_COLUMNS,
    LaunchPlan,
    device_limits,
    head_blocks,
    next_power_of_two,
)
from gpu_kernels.stash_draws import draw_kernel
from gpu_kernels.stash_plan import MIN_TILE, SPAN, draws_per_program, largest_tile, stash_plan
from gpu_kernels.tile_stash import stash_shapes, stash_unit
from gpu_kernels.workspace import Workspace

if TYPE_CHECKING:
    import torch


def s2anta_prop_decode(
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
    stash: str = "float16",
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
    """Estimate attention by the mean of S rows, split over tiles in proportion to their mass.

    Tile t gets ⌊S·P_t⌋ draws, plus one for the largest remainders until Σ S_t = S, and draws them
    systematically inside. **Biased**: budgets are a fixed function of the scores, so a tile whose
    remainder never wins contributes nothing, however many steps are averaged; `s2anta_comb` costs
    the same and is not. Here because it is what was published; unlike there, any number of tiles
    is right.

    samples: S, per query head. tile: keys per tile, a power of two within 16..256 whose rows fit
    into shared memory. stash: "float16" keeps each weight to 11 bits, "float32" to 24.
    rows: int32 [B, H, S], filled with the rows drawn, tile by tile, −1 for an empty sequence.
    Other arguments, returns and errors as `s2anta_flash_decode`.
    Source: SANTA, arXiv 2605.01910, section 3.4.
    """
    import torch

    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale,
    )
    check_samples(samples)
    limits = device_limits(q.device)
    check_tile(tile, MIN_TILE, largest_tile(request, limits))
    unit = stash_unit(stash)
    shared = shares_offsets(offsets)
    state = random_state(seed, step, layer, q)
    out, lse = outputs(request, out, lse, return_lse)
    if rows is not None:
        check_output("rows", rows, (*q.shape[:2], samples), torch.int32, q)
        rows.fill_(-1)
    chosen = stash_plan(request, tile, limits) if launch is None else launch
    block_n = max(tile, chosen.block_n)
    heads, blocks = head_blocks(request.group)
    flat = request.batch * request.num_qo_heads
    tiles = max(1, -(-request.context // block_n)) * (block_n // tile)
    require(tiles <= MAX_TILES, "tile", f"so long that {request.context} keys make at most"
            f" {MAX_TILES} tiles", tile)
    draws, warps = draws_per_program(request, samples)
    # a multiple of 16, so that a span of starts is read at once
    starts = (tiles // SPAN + 1) * SPAN
    stashed, block_mass, tile_mass, tile_max, start, *parts = (workspace or Workspace()).cut(
        [
            *stash_shapes(flat, tiles, tile, stash),
            ((flat, starts), torch.int32),
            *partial_shapes(request, -(-samples // draws)),
        ],
        q.device,
    )
    cache = cache_arguments(request)
    masses = {"tile_mass_ptr": tile_mass, "tile_max_ptr": tile_max, "tiles_per_head": tiles,
              "stash_unit": unit}
    weights = {"stash_ptr": stashed, "block_mass_ptr": block_mass}
    score_kernel[(request.num_kv_heads * blocks, chosen.splits, request.batch)](
        **cache, **masses, **weights, HEADS=heads, BLOCKS=blocks, TILE=tile,
        BLOCK_N=block_n, COLUMNS=max(MIN_COLUMNS, heads), num_warps=chosen.num_warps,
        num_stages=chosen.num_stages, **first_launch(q.device),
    )
    where = {name: cache[name] for name in ("lens_ptr", "indptr_ptr", "capacity", "PAGE_SIZE")}
    budgets = {"start_ptr": start, "starts_per_head": starts, "samples": samples}
    block_t, budget_warps = budget_plan(tiles)
    budget_kernel[(request.num_qo_heads, request.batch)](
        **where, **masses, **budgets, lse_ptr=lse, TILE=tile, BLOCK_T=block_t,
        num_warps=budget_warps, **dependent_launch(q.device),
    )
    names = ("indices_ptr", "group", "HEAD_DIM", "BLOCK_D")
    draw_kernel[(parts[1].shape[1], request.num_qo_heads, request.batch)](
        **where, **{name: cache[name] for name in names}, **value_arguments(request), **masses,
        **weights, **budgets, state_ptr=state, part_ptr=parts[0], max_ptr=parts[1],
        sum_ptr=parts[2], rows_ptr=rows, most_rows=samples, layer=layer,
        TILE=tile, DRAWS=draws, SPANS=min(64, next_power_of_two(-(-tiles // SPAN))),
        SHARED=shared, num_warps=warps, num_stages=1, **dependent_launch(q.device),
    )
    merge_splits(request, parts, out, None)
    return answer(out, lse, return_lse)
