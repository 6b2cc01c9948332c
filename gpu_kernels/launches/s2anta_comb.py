"""What `s2anta_comb_decode` launches."""

from __future__ import annotations

from dataclasses import replace

from gpu_kernels.launches.call import MASS_BYTES, DecodeCall, Pass, Work, row_arguments
from gpu_kernels.launches.stash import drawn_stash_bytes, stash_bytes
from gpu_kernels.s2anta_comb.plan import BLOCK, draw_launch, draw_plan, plan
from gpu_kernels.split_plan import MIN_COLUMNS, DeviceLimits, head_blocks, next_power_of_two

SEARCH_ROUNDS = 7
"""Rounds of the draw pass ahead of the rows, each waiting for the one before: tile maxima, tile
masses, running masses of spans, of tiles, a tile's maximum, block masses, weights."""


def comb_passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Describe the score pass, the draw pass and, with several programs per head, their sum."""
    sizes, tile = call.sizes, call.tile
    chosen = plan(sizes, tile, limits)
    heads, blocks = head_blocks(sizes.group)
    tiles = max(1, -(-sizes.context // tile))
    teeth, warps = draw_plan(call.samples)
    parts = -(-call.samples // teeth)
    spans, chunk = draw_launch(tiles, warps)
    score = Pass(
        "s2anta_comb.score_kernel.score_kernel",
        (sizes.num_kv_heads * blocks, chosen.splits, sizes.batch),
        row_arguments(call) | {"HEADS": heads, "BLOCK_N": tile,
                               "COLUMNS": max(MIN_COLUMNS, heads), "PAGE_SIZE": 0},
        chosen.num_warps, chosen.num_stages, "alone",
        Work(read_bytes=call.keys * sizes.row_bytes + call.query_bytes,
             repeated_bytes=(blocks - 1) * call.keys * sizes.row_bytes,
             written_bytes=stash_bytes(call.heads, tiles, tile, BLOCK),
             tile_bytes=tile * sizes.row_bytes, tiles_in_flight=max(1, chosen.num_stages - 1),
             iterations=tiles / chosen.splits),
    )
    draws = call.heads * call.samples
    values = call.gathered(draws)
    once, again = drawn_stash_bytes(draws, call.heads, tiles, tile, BLOCK)
    masses = call.heads * tiles * MASS_BYTES
    sums = call.heads * parts * sizes.head_dim * MASS_BYTES if parts > 1 else call.query_bytes
    draw = Pass(
        "s2anta_comb.draw_kernel.draw_kernel", (parts, sizes.num_qo_heads, sizes.batch),
        row_arguments(call) | {"BLOCK_N": tile, "TEETH": teeth, "SPANS": spans, "CHUNK": chunk,
                               "PAGE_SIZE": 0},
        warps, 1, "dependent",
        replace(
            values, handed_bytes=2 * masses + once,
            # every program of a head reads all its tiles' maxima and masses, and running masses
            repeated_bytes=values.repeated_bytes + again + (3 * parts - 2) * masses,
            written_bytes=parts * masses + sums,
            tile_bytes=min(teeth, call.samples) * sizes.row_bytes,
            iterations=-(-tiles // chunk), rounds=SEARCH_ROUNDS),
    )
    if parts == 1:
        return [score, draw]
    add = Pass(
        "s2anta_comb.draw_kernel.add_parts_kernel", (call.heads, 1, 1),
        {"HEAD_DIM": sizes.head_dim, "BLOCK_D": next_power_of_two(sizes.head_dim),
         "BLOCK_P": min(32, next_power_of_two(parts)), "out": call.query_dtype},
        4, 3, "dependent",
        Work(handed_bytes=sums, written_bytes=call.query_bytes, tile_bytes=sums / call.heads,
             iterations=-(-parts // 32), rounds=1),
    )
    return [score, draw, add]
