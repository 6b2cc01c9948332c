"""What `s2anta_flash_decode` launches."""

from __future__ import annotations

from dataclasses import replace

from gpu_kernels.launches.call import DecodeCall, Pass, row_arguments
from gpu_kernels.launches.merge import left_bytes, merge_pass, result_arguments
from gpu_kernels.merge_plan import results_of
from gpu_kernels.s2anta_flash.budget import effective_samples, tile_budget
from gpu_kernels.s2anta_flash.plan import plan, samples_per_pass
from gpu_kernels.split_plan import MIN_COLUMNS, DeviceLimits, head_blocks


def flash_passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Describe the pass that reads keys and draws values tile by tile, and the merge."""
    sizes, tile = call.sizes, call.tile
    chosen = plan(sizes, tile, limits)
    heads, blocks = head_blocks(sizes.group)
    tiles = -(-sizes.context // tile)
    at_once = samples_per_pass(sizes, call.samples, tile)
    turns = -(-tile_budget(call.samples, tiles) // at_once)
    results = results_of(chosen)
    values = call.gathered(call.heads * effective_samples(call.samples, tile, sizes.context))
    reading = Pass(
        "s2anta_flash.kernel.flash_kernel",
        (sizes.num_kv_heads * blocks, chosen.grid_programs, sizes.batch),
        row_arguments(call) | {"HEADS": heads, "BLOCK_N": tile, "SAMPLES": at_once,
                               "COLUMNS": max(MIN_COLUMNS, heads), "PAGE_SIZE": 0,
                               **result_arguments(chosen)},
        chosen.num_warps, chosen.num_stages, "alone",
        replace(
            values, read_bytes=call.keys * sizes.row_bytes + call.query_bytes,
            repeated_bytes=(values.repeated_bytes
                            + (blocks * turns - 1) * call.keys * sizes.row_bytes),
            written_bytes=left_bytes(call, results),
            tile_bytes=tile * sizes.row_bytes,
            tiles_in_flight=max(1, chosen.num_stages - 1),
            iterations=tiles * turns / chosen.grid_programs,
            branches=chosen.splits / chosen.grid_programs - 1),
    )
    return [reading] if results == 1 else [reading, merge_pass(call, results, chosen)]
