"""What `dense_decode` launches."""

from __future__ import annotations

from gpu_kernels.dense.plan import plan
from gpu_kernels.launches.call import DecodeCall, Pass, Work, row_arguments
from gpu_kernels.launches.merge import left_bytes, merge_pass, result_arguments
from gpu_kernels.merge_plan import results_of
from gpu_kernels.split_plan import DeviceLimits, head_blocks


def dense_passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Describe the pass over all keys and values, and the merge."""
    sizes = call.sizes
    chosen = plan(sizes, limits)
    heads, blocks = head_blocks(sizes.group)
    tiles = -(-sizes.context // chosen.block_n)
    results = results_of(chosen)
    reading = Pass(
        "dense.kernel.dense_kernel",
        (sizes.num_kv_heads * blocks, chosen.grid_programs, sizes.batch),
        row_arguments(call) | {"HEADS": heads, "BLOCK_N": chosen.block_n, "ROWS": max(16, heads),
                               "PAGE_SIZE": 0,
                               **result_arguments(chosen)},
        chosen.num_warps, chosen.num_stages, "alone",
        Work(read_bytes=2 * call.keys * sizes.row_bytes + call.query_bytes,
             repeated_bytes=2 * (blocks - 1) * call.keys * sizes.row_bytes,
             written_bytes=left_bytes(call, results),
             tile_bytes=2 * chosen.block_n * sizes.row_bytes,
             tiles_in_flight=max(1, chosen.num_stages - 1),
             iterations=tiles / chosen.grid_programs,
             branches=chosen.splits / chosen.grid_programs - 1),
    )
    return [reading] if results == 1 else [reading, merge_pass(call, results, chosen)]
