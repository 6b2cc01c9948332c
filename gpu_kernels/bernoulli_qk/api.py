"""`bernoulli_qk_decode` and `bernoulli_qk_flash_decode`: scores from additions of keys only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.bernoulli_qk.dense_kernel import ternary_dense_kernel
from gpu_kernels.bernoulli_qk.inputs import (
    check_feature_major,
    digit_shapes,
    digits_to_fill,
    draw_digits,
    key_arguments,
)
from gpu_kernels.bernoulli_qk.plan import DEFAULT_TILE, plan, score_plan
from gpu_kernels.bernoulli_qk.stash_kernel import ternary_stash_kernel
from gpu_kernels.launch import dependent_launch, value_arguments
from gpu_kernels.outputs import answer, outputs
from gpu_kernels.partial_results import merge_splits, partial_shapes
from gpu_kernels.random_offsets import random_state, shares_offsets
from gpu_kernels.request import check_output, check_samples, check_tile
from gpu_kernels.s2anta_flash.budget import rows_per_head
from gpu_kernels.split_plan import LaunchPlan, device_limits, head_blocks
from gpu_kernels.stash_draws import draw_kernel
from gpu_kernels.stash_plan import MIN_TILE, draws_per_program, largest_tile
from gpu_kernels.tile_stash import stash_shapes, stash_unit
from gpu_kernels.workspace import Workspace

if TYPE_CHECKING:
    import torch


def bernoulli_qk_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    trials: int,
    scale: str = "exact",
    seed: int | torch.Tensor = 0,
    step: int | None = None,
    layer: int = 0,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    return_lse: bool = False,
    out: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
    digits: torch.Tensor | None = None,
    workspace: Workspace | None = None,
    launch: LaunchPlan | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Return softmax(ŝ)·V with scores ŝ = (c/R)·Σ_j digits_j·K_j of a random ternary query.

    digits_j sums R ternary digits of q_j, c = max_j |q_j·sm_scale|. E[ŝ] is the exact score;
    softmax and output are **biased** (exp is convex). Features that no query head of a group
    touches are not read (`inputs.features_read` counts them): few trials skip many.

    k: [B, KVH, d, n], feature by feature, contiguous along n (which should be divisible by 16:
    odd strides cost wide loads). v: [B, n, KVH, d] ("NHD") or [B, KVH, n, d] ("HND"). No pages: a
    page of a few keys would cut every feature's run into a few bytes.
    trials: R, 1..256. scale: "exact", or "power_of_two" for the next larger c whose c/R is one.
    seed, step, layer: key the digits, as the models'; seed may be an int64 device tensor
    (seed, step), read when the kernel runs. digits: int32 [B, H, d], filled with the digit sums.
    Other arguments, returns and errors as `dense_decode`.
    Source: SANTA, arXiv 2605.01910, section 4.
    """
    found = check_feature_major(
        q, k, v, trials=trials, scale=scale, seq_lens=seq_lens, sm_scale=sm_scale,
        kv_layout=kv_layout, k_scale=k_scale, v_scale=v_scale,
    )
    request = found.rows
    state = random_state(seed, step, layer, q)
    out, lse = outputs(request, out, lse, return_lse)
    chosen = plan(request, found.k.stride(2), device_limits(q.device)) if launch is None else launch
    heads, blocks = head_blocks(request.group)
    scratch, unit, *parts = (workspace or Workspace()).cut(
        digit_shapes(request) + partial_shapes(request, chosen.splits), q.device
    )
    digits = digits_to_fill(request, digits, scratch)
    draw_digits(request, trials, scale, state, layer, digits, unit)
    ternary_dense_kernel[(request.num_kv_heads * blocks, chosen.grid_programs, request.batch)](
        **key_arguments(found), **value_arguments(request), digits_ptr=digits, unit_ptr=unit,
        splits=chosen.splits, splits_per_program=chosen.splits_per_program,
        part_ptr=parts[0], max_ptr=parts[1], sum_ptr=parts[2],
        HEADS=heads, BLOCKS=blocks, BLOCK_N=chosen.block_n, ROWS=max(16, heads),
        num_warps=chosen.num_warps, num_stages=chosen.num_stages, **dependent_launch(q.device),
    )
    merge_splits(request, parts, out, lse)
    return answer(out, lse, return_lse)


def bernoulli_qk_flash_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    trials: int,
    samples: int,
    tile: int = DEFAULT_TILE,
    scale: str = "exact",
    offsets: str = "own",
    seed: int | torch.Tensor = 0,
    step: int | None = None,
    layer: int = 0,
    stash: str = "float16",
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    return_lse: bool = False,
    out: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
    digits: torch.Tensor | None = None,
    rows: torch.Tensor | None = None,
    workspace: Workspace | None = None,
    launch: LaunchPlan | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Estimate attention with ternary scores and S_t systematic draws of values in every tile.

    Scores as `bernoulli_qk_decode`, draws as `s2anta_flash_decode`, both with the models' random
    numbers; unbiased for the softmax of the ternary scores, biased for that of the exact ones.

    samples, tile, offsets, rows: as `s2anta_flash_decode`. stash: "float16" keeps each weight to
    11 bits between the passes, "float32" to 24. Other arguments, returns and errors as
    `bernoulli_qk_decode`. Source: SANTA, arXiv 2605.01910, sections 3.4 and 4.
    """
    import torch

    found = check_feature_major(
        q, k, v, trials=trials, scale=scale, seq_lens=seq_lens, sm_scale=sm_scale,
        kv_layout=kv_layout, k_scale=k_scale, v_scale=v_scale,
    )
    request, limits = found.rows, device_limits(q.device)
    check_samples(samples)
    check_tile(tile, MIN_TILE, largest_tile(request, limits))
    stash_top = stash_unit(stash)
    shared = shares_offsets(offsets)
    state = random_state(seed, step, layer, q)
    out, lse = outputs(request, out, lse, return_lse)
    most_rows = rows_per_head(samples, tile, request.context)
    if rows is not None:
        check_output("rows", rows, (*q.shape[:2], most_rows), torch.int32, q)
        rows.fill_(-1)
    chosen = score_plan(request, found.k.stride(2), tile, limits) if launch is None else launch
    block_n = max(tile, chosen.block_n)
    heads, blocks = head_blocks(request.group)
    tiles = max(1, -(-request.context // block_n)) * (block_n // tile)
    draws, warps = draws_per_program(request, most_rows)
    shapes = [
        *digit_shapes(request),
        *stash_shapes(request.batch * request.num_qo_heads, tiles, tile, stash),
        *partial_shapes(request, max(1, -(-most_rows // draws))),
    ]
    scratch, unit, stashed, block_mass, tile_mass, tile_max, *parts = (
        workspace or Workspace()
    ).cut(shapes, q.device)
    digits = digits_to_fill(request, digits, scratch)
    draw_digits(request, trials, scale, state, layer, digits, unit)
    keys = key_arguments(found)
    weights = {
        "stash_ptr": stashed, "block_mass_ptr": block_mass, "tile_mass_ptr": tile_mass,
        "tile_max_ptr": tile_max, "tiles_per_head": tiles, "stash_unit": stash_top,
    }
    ternary_stash_kernel[(request.num_kv_heads * blocks, chosen.splits, request.batch)](
        **keys, **weights, digits_ptr=digits, unit_ptr=unit,
        HEADS=heads, BLOCKS=blocks, TILE=tile, BLOCK_N=block_n, ROWS=max(16, heads),
        num_warps=chosen.num_warps, num_stages=chosen.num_stages, **dependent_launch(q.device),
    )
    names = ("lens_ptr", "capacity", "group", "HEAD_DIM", "BLOCK_D")
    draw_kernel[(parts[1].shape[1], request.num_qo_heads, request.batch)](
        **{name: keys[name] for name in names}, **value_arguments(request), **weights,
        indptr_ptr=None, indices_ptr=None, state_ptr=state, start_ptr=None, starts_per_head=0,
        part_ptr=parts[0], max_ptr=parts[1], sum_ptr=parts[2], rows_ptr=rows,
        samples=samples, most_rows=most_rows, layer=layer, PAGE_SIZE=0,
        TILE=tile, DRAWS=draws, SPANS=1, SHARED=shared, num_warps=warps, num_stages=1,
        **dependent_launch(q.device),
    )
    merge_splits(request, parts, out, lse)
    return answer(out, lse, return_lse)
