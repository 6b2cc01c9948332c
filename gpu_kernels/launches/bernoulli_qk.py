"""What `bernoulli_qk_decode` and `bernoulli_qk_flash_decode` launch."""

from __future__ import annotations

from gpu_kernels.bernoulli_qk.plan import plan, score_plan
from gpu_kernels.launches.call import MASS_BYTES, DecodeCall, Pass, Work, row_arguments
from gpu_kernels.launches.merge import merge_pass, result_bytes
from gpu_kernels.launches.s2anta_prop import draw_pass
from gpu_kernels.launches.stash import stash_bytes
from gpu_kernels.s2anta_flash.budget import rows_per_head
from gpu_kernels.split_plan import DeviceLimits, head_blocks, next_power_of_two
from gpu_kernels.stash_plan import BLOCK


def digits_pass(call: DecodeCall) -> Pass:
    """Describe the pass that turns queries into digits."""
    sizes = call.sizes
    dim = sizes.head_dim
    digits = call.heads * (dim + 1) * MASS_BYTES
    return Pass(
        "bernoulli_qk.digits_kernel.digits_kernel", (sizes.num_qo_heads, sizes.batch, 1),
        {"HEAD_DIM": dim, "BLOCK_D": next_power_of_two(dim), "POWER_OF_TWO": 0,
         "q": call.query_dtype}, 1, 3, "alone",
        Work(read_bytes=call.query_bytes, written_bytes=digits,
             tile_bytes=call.query_bytes / call.heads, iterations=call.trials),
    )


def bernoulli_passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Describe digits, the pass over touched features and all values, and the merge."""
    sizes = call.sizes
    chosen = plan(sizes, sizes.context, limits)
    heads, blocks = head_blocks(sizes.group)
    tiles = -(-sizes.context // chosen.block_n)
    features = call.features * sizes.context * sizes.row_bytes / sizes.head_dim
    values = call.keys * sizes.row_bytes
    share = (features + values) / (2 * values)
    reading = Pass(
        "bernoulli_qk.dense_kernel.ternary_dense_kernel",
        (sizes.num_kv_heads * blocks, chosen.grid_programs, sizes.batch),
        row_arguments(call) | {"HEADS": heads, "BLOCK_N": chosen.block_n, "ROWS": max(16, heads)},
        chosen.num_warps, chosen.num_stages, "dependent",
        Work(read_bytes=features + values, repeated_bytes=(blocks - 1) * (features + values),
             handed_bytes=call.heads * chosen.grid_programs * (sizes.head_dim + 1) * MASS_BYTES,
             written_bytes=result_bytes(call, chosen.splits),
             tile_bytes=2 * chosen.block_n * sizes.row_bytes * share,
             tiles_in_flight=max(1, chosen.num_stages - 1),
             iterations=tiles / chosen.grid_programs,
             branches=chosen.splits / chosen.grid_programs - 1, rounds=1),
    )
    return [digits_pass(call), reading, merge_pass(call, chosen.splits, None)]


def bernoulli_flash_passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Describe digits, the score pass over touched features, the draw pass and the merge."""
    sizes, tile = call.sizes, call.tile
    chosen = score_plan(sizes, sizes.context, tile, limits)
    block_n = max(tile, chosen.block_n)
    heads, blocks = head_blocks(sizes.group)
    tiles = max(1, -(-sizes.context // block_n)) * (block_n // tile)
    features = call.features * sizes.context * sizes.row_bytes / sizes.head_dim
    score = Pass(
        "bernoulli_qk.stash_kernel.ternary_stash_kernel",
        (sizes.num_kv_heads * blocks, chosen.splits, sizes.batch),
        row_arguments(call) | {"HEADS": heads, "TILE": tile, "BLOCK_N": block_n,
                               "ROWS": max(16, heads)},
        chosen.num_warps, chosen.num_stages, "dependent",
        Work(read_bytes=features, repeated_bytes=(blocks - 1) * features,
             handed_bytes=call.heads * chosen.splits * (sizes.head_dim + 1) * MASS_BYTES,
             written_bytes=stash_bytes(call.heads, tiles, tile, BLOCK),
             tile_bytes=block_n * sizes.row_bytes * features / (call.keys * sizes.row_bytes),
             tiles_in_flight=max(1, chosen.num_stages - 1),
             iterations=-(-sizes.context // block_n) / chosen.splits, rounds=1),
    )
    most = rows_per_head(call.samples, tile, sizes.context)
    draw, parts = draw_pass(call, tile, most, 1, with_starts=False)
    return [digits_pass(call), score, draw, merge_pass(call, parts, None)]
