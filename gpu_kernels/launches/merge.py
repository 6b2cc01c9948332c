"""The merge of split results."""

from __future__ import annotations

from gpu_kernels.launches.call import MASS_BYTES, DecodeCall, Pass, Work
from gpu_kernels.merge_plan import merge_plan, results_of
from gpu_kernels.split_plan import LaunchPlan


def result_bytes(call: DecodeCall, results: int) -> int:
    """Return bytes of `results` partial results of every head: part, max and sum."""
    return call.heads * results * (call.sizes.head_dim + 2) * MASS_BYTES


def left_bytes(call: DecodeCall, results: int) -> int:
    """Return bytes that the programs of a reading pass leave: results, or the answer itself."""
    return call.query_bytes if results == 1 else result_bytes(call, results)


def result_arguments(plan: LaunchPlan) -> dict[str, object]:
    """Return the compile-time arguments that say what programs leave."""
    return {"SPLITS_PER_RESULT": plan.splits_per_result, "answers": int(results_of(plan) == 1)}


def merge_pass(call: DecodeCall, results: int, plan: LaunchPlan | None) -> Pass:
    """Describe `merge_splits`; plan: of what wrote the results, if it adds them by spans."""
    chosen = merge_plan(call.sizes, results, plan)
    read = result_bytes(call, results)
    masses = 2 * call.heads * results * MASS_BYTES
    return Pass(
        "partial_results.merge_kernel", chosen.grid,
        {"HEAD_DIM": call.sizes.head_dim, "BLOCK_S": chosen.block_s, "MEMBERS": chosen.members,
         "out": call.query_dtype},
        chosen.num_warps, 3, "dependent",
        # every program of a head reads its maxima and sums
        Work(handed_bytes=read, repeated_bytes=(chosen.grid[2] - 1) * masses,
             written_bytes=call.query_bytes, tile_bytes=read / _programs(chosen.grid),
             iterations=-(-results // (chosen.block_s * chosen.members)), rounds=1),
    )


def _programs(grid: tuple[int, int, int]) -> int:
    return grid[0] * grid[1] * grid[2]
