"""`s2anta_comb_decode`: read all keys, and only the values that one global comb draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.launch import cache_arguments, dependent_launch, first_launch, value_arguments
from gpu_kernels.outputs import answer, outputs
from gpu_kernels.page_table import PageTable
from gpu_kernels.random_offsets import random_state, shares_offsets
from gpu_kernels.request import check_decode, check_output, check_samples, check_tile
from gpu_kernels.requirement import require
from gpu_kernels.s2anta_comb.draw_kernel import add_parts_kernel, draw_kernel
from gpu_kernels.s2anta_comb.plan import (
    BLOCK,
    DEFAULT_TILE,
    MAX_TILE,
    MIN_TILE,
    draw_launch,
    draw_plan,
    plan,
)
from gpu_kernels.s2anta_comb.score_kernel import score_kernel
from gpu_kernels.split_plan import (
    MIN_COLUMNS,
    LaunchPlan,
    device_limits,
    head_blocks,
    next_power_of_two,
)
from gpu_kernels.workspace import Workspace

if TYPE_CHECKING:
    import torch


def s2anta_comb_decode(
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
    draw: tuple[int, int] | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Estimate attention by the mean of the S rows that a comb over the whole softmax draws.

    Tooth k of the comb draws the first row whose CDF reaches (k + 1 − a)/S: the rows of
    `santa_systematic`. Unbiased for the probabilities as stashed.

    samples: S, per query head. tile: keys whose scores share a maximum, a power of two; it
    changes no row, up to rounding. stash: "float16" keeps each probability to 11 bits, "float32"
    to 24. rows: int32 [B, H, S], filled with the row of every tooth, −1 for an empty sequence.
    draw: (draws per program, warps) of the second pass instead of the rule's.
    Other arguments, returns and errors as `s2anta_flash_decode`.
    Source: SANTA, arXiv 2605.01910, section 3.3, with tile budgets from the same comb.
    """
    import torch

    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale,
    )
    check_samples(samples)
    check_tile(tile, MIN_TILE, MAX_TILE)
    require(stash in ("float16", "float32"), "stash", "float16 or float32", repr(stash))
    shared = shares_offsets(offsets)
    state = random_state(seed, step, layer, q)
    out, lse = outputs(request, out, lse, return_lse)
    if rows is not None:
        check_output("rows", rows, (*q.shape[:2], samples), torch.int32, q)
        rows.fill_(-1)
    chosen = plan(request, tile, device_limits(q.device)) if launch is None else launch
    heads, blocks = head_blocks(request.group)
    flat = request.batch * request.num_qo_heads
    tiles = max(1, -(-request.context // tile))
    teeth, warps = draw or draw_plan(samples)
    parts = -(-samples // teeth)
    spans, chunk = draw_launch(tiles, warps)
    scratch = workspace or Workspace()
    stashed, block_mass, tile_mass, tile_max, running, sums = scratch.cut(
        [
            ((flat, tiles * tile), getattr(torch, stash)),
            ((flat, tiles, tile // BLOCK), torch.float32),
            ((flat, tiles), torch.float32),
            ((flat, tiles), torch.float32),
            ((flat, parts, tiles), torch.float32),
            ((flat, parts, request.head_dim), torch.float32),
        ],
        q.device,
    )
    masses = {
        "stash_ptr": stashed, "block_mass_ptr": block_mass, "tile_mass_ptr": tile_mass,
        "tile_max_ptr": tile_max, "tiles_per_head": tiles,
        # the largest weight is 2^15: half of float16's range, and 2^-39 of it still counts
        "stash_unit": 32768.0 if stash == "float16" else 1.0,
    }
    cache = cache_arguments(request)
    score_kernel[(request.num_kv_heads * blocks, chosen.splits, request.batch)](
        **cache, **masses, HEADS=heads, BLOCKS=blocks, BLOCK_N=tile,
        COLUMNS=max(MIN_COLUMNS, heads), num_warps=chosen.num_warps, num_stages=chosen.num_stages,
        **first_launch(q.device),
    )
    shared_names = ("lens_ptr", "indptr_ptr", "indices_ptr", "capacity", "group", "HEAD_DIM",
                    "BLOCK_D", "PAGE_SIZE")
    draw_kernel[(parts, request.num_qo_heads, request.batch)](
        **{name: cache[name] for name in shared_names}, **value_arguments(request), **masses,
        running_ptr=running, v_scale_ptr=request.v_scale, state_ptr=state,
        out_ptr=out if parts == 1 else sums, lse_ptr=lse, rows_ptr=rows, samples=samples,
        layer=layer, BLOCK_N=tile, TEETH=teeth, SPANS=spans, CHUNK=chunk, SHARED=shared,
        num_warps=warps, num_stages=1, **dependent_launch(q.device),
    )
    if parts > 1:
        add_parts_kernel[(flat,)](sums, out, parts, HEAD_DIM=request.head_dim,
                                  BLOCK_D=next_power_of_two(request.head_dim),
                                  BLOCK_P=min(32, next_power_of_two(parts)), num_warps=4,
                                  **dependent_launch(q.device))
    return answer(out, lse, return_lse)
