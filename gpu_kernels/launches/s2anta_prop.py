"""What `s2anta_prop_decode` launches."""

from __future__ import annotations

from dataclasses import replace

from gpu_kernels.launches.call import MASS_BYTES, DecodeCall, Pass, Work, row_arguments
from gpu_kernels.launches.merge import merge_pass, result_bytes
from gpu_kernels.launches.stash import drawn_stash_bytes, stash_bytes
from gpu_kernels.s2anta_prop.plan import budget_plan
from gpu_kernels.split_plan import MIN_COLUMNS, DeviceLimits, head_blocks, next_power_of_two
from gpu_kernels.stash_plan import BLOCK, SPAN, draws_per_program, stash_plan

SEARCH_ROUNDS = {"starts": 6, "equal": 3}
"""Rounds of the draw pass ahead of the rows: with starts the number of draws, spans, tiles, a
tile's mass and start, block masses, weights; with equal budgets masses, block masses, weights."""


def prop_passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Describe the score pass, the split of draws over tiles, the draw pass and the merge."""
    sizes, tile = call.sizes, call.tile
    chosen = stash_plan(sizes, tile, limits)
    block_n = max(tile, chosen.block_n)
    heads, blocks = head_blocks(sizes.group)
    tiles = max(1, -(-sizes.context // block_n)) * (block_n // tile)
    score = Pass(
        "s2anta_prop.score_kernel.score_kernel",
        (sizes.num_kv_heads * blocks, chosen.splits, sizes.batch),
        row_arguments(call) | {"HEADS": heads, "TILE": tile, "BLOCK_N": block_n,
                               "COLUMNS": max(MIN_COLUMNS, heads), "PAGE_SIZE": 0},
        chosen.num_warps, chosen.num_stages, "alone",
        Work(read_bytes=call.keys * sizes.row_bytes + call.query_bytes,
             repeated_bytes=(blocks - 1) * call.keys * sizes.row_bytes,
             written_bytes=stash_bytes(call.heads, tiles, tile, BLOCK),
             tile_bytes=block_n * sizes.row_bytes, tiles_in_flight=max(1, chosen.num_stages - 1),
             iterations=-(-sizes.context // block_n) / chosen.splits),
    )
    masses = call.heads * tiles * MASS_BYTES
    block_t, warps = budget_plan(tiles)
    budget = Pass(
        "s2anta_prop.budget_kernel.budget_kernel", (sizes.num_qo_heads, sizes.batch, 1),
        {"TILE": tile, "BLOCK_T": block_t, "PAGE_SIZE": 0}, warps, 3, "dependent",
        Work(handed_bytes=2 * masses, written_bytes=masses,
             tile_bytes=2 * tiles * MASS_BYTES, rounds=1),
    )
    starts = min(64, next_power_of_two(-(-tiles // SPAN)))
    draw, parts = draw_pass(call, tile, call.samples, starts, with_starts=True)
    return [score, budget, draw, merge_pass(call, parts, None)]


def draw_pass(
    call: DecodeCall, tile: int, most_rows: int, spans: int, *, with_starts: bool
) -> tuple[Pass, int]:
    """Describe the pass that draws rows from a stash; returns it and its results per head."""
    sizes = call.sizes
    draws, warps = draws_per_program(sizes, most_rows)
    parts = max(1, -(-most_rows // draws))
    drawn = call.heads * most_rows
    starts = call.heads * parts * (16 * spans + 16 * draws) * MASS_BYTES if with_starts else 0
    values = call.gathered(drawn)
    once, again = drawn_stash_bytes(drawn, call.heads, -(-sizes.context // tile), tile, BLOCK)
    return Pass(
        "stash_draws.draw_kernel", (parts, sizes.num_qo_heads, sizes.batch),
        row_arguments(call) | {"TILE": tile, "DRAWS": draws, "SPANS": spans, "PAGE_SIZE": 0,
                               "starts": int(with_starts)},
        warps, 1, "dependent",
        replace(
            values, handed_bytes=starts + once, repeated_bytes=values.repeated_bytes + again,
            written_bytes=result_bytes(call, parts),
            tile_bytes=min(draws, most_rows) * sizes.row_bytes,
            rounds=SEARCH_ROUNDS["starts" if with_starts else "equal"]),
    ), parts
