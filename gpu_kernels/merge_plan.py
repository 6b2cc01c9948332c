"""How the results of splits are merged, by rule."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_kernels.decode_sizes import DecodeSizes
from gpu_kernels.split_plan import SPAN, LaunchPlan, next_power_of_two

DIMS = 32
"""Numbers of a head that one program merges: few, because a single sequence has few heads."""


@dataclass(frozen=True)
class MergePlan:
    """Launch of the merge: (H, B, ⌈d/32⌉) programs.

    members: results that make up a span: 1, 4 groups or 16 splits; block_s: spans that a program
    reads at once.
    """

    grid: tuple[int, int, int]
    members: int
    block_s: int
    num_warps: int = 4


def results_of(plan: LaunchPlan) -> int:
    """Return how many results a plan's programs store per head."""
    return -(-plan.splits // plan.splits_per_result)


def merge_plan(sizes: DecodeSizes, results: int, plan: LaunchPlan | None) -> MergePlan:
    """Choose how `results` per head are merged.

    plan: of the kernel that wrote them, if it adds splits by groups and spans.
    """
    members = 1 if plan is None else SPAN // plan.splits_per_result
    grid = (sizes.num_qo_heads, sizes.batch, -(-sizes.head_dim // DIMS))
    return MergePlan(grid, members, min(64, next_power_of_two(-(-results // members))))
