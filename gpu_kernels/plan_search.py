"""Fills a plan cache: `python -m gpu_kernels.plan_search --cache plans.json --kernel dense ...`.

Times neighbours of the rule's configuration on queries and caches of its own, cold L2; outputs of
a running model are never touched.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_kernels.plan_cache import KERNELS, PlanCache, PlanKey, plan_key
from gpu_kernels.requirement import require
from gpu_kernels.split_plan import LaunchPlan, device_limits

if TYPE_CHECKING:
    import torch

TILED = ("s2anta_flash", "s2anta_comb", "bernoulli_qk_flash")
"""Kernels whose block of keys is the caller's tile or follows from it."""


@dataclass(frozen=True)
class Problem:
    """A decode step to tune for; samples and tile: 0 for kernels that read every value."""

    kernel: str
    batch: int
    context: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: str
    samples: int = 0
    tile: int = 0
    trials: int = 8


def candidates(base: LaunchPlan, any_block: bool) -> Iterator[LaunchPlan]:
    """Yield the base and its neighbours: half and double of every number, one stage up or down."""
    blocks = (base.block_n, base.block_n // 2, base.block_n * 2) if any_block else (base.block_n,)
    for block_n in (block for block in blocks if 16 <= block <= 256):
        for warps in (base.num_warps, base.num_warps // 2, base.num_warps * 2):
            for stages in (base.num_stages, base.num_stages + 1, base.num_stages - 1):
                for splits in (base.splits, base.splits * 2, max(1, base.splits // 2)):
                    programs = base.programs and min(base.programs, splits)
                    if 1 <= warps <= 8 and 1 <= stages <= 5:
                        yield LaunchPlan(block_n, warps, stages, splits, programs)


def prepared(
    problem: Problem, device: torch.device
) -> tuple[PlanKey, LaunchPlan, Callable[[LaunchPlan], Callable[[], Any]]]:
    """Return the problem's key, the rule's plan and what makes a call from a plan."""
    import torch

    from gpu_kernels.workspace import Workspace

    require(problem.kernel in KERNELS, "kernel", f"one of {', '.join(KERNELS)}",
            repr(problem.kernel))
    dtype = getattr(torch, problem.dtype)
    rows = (problem.batch, problem.context, problem.num_kv_heads, problem.head_dim)
    q = torch.randn(problem.batch, problem.num_qo_heads, problem.head_dim, device=device).to(dtype)
    k, v = (torch.randn(rows, device=device).to(dtype) for _ in range(2))
    arguments: dict[str, Any] = {"workspace": Workspace(), "out": torch.empty_like(q)}
    if problem.kernel != "dense":
        arguments["seed"] = torch.tensor([0, 0], dtype=torch.int64, device=device)
    if problem.samples:
        arguments |= {"samples": problem.samples, "tile": problem.tile}
    if problem.kernel.startswith("bernoulli_qk"):
        arguments["trials"] = problem.trials
        k = k.permute(0, 2, 3, 1).contiguous()
    decode, base = _decode_and_rule(problem, q, k, v)
    key = plan_key(problem.kernel, q, k, samples=problem.samples, tile=problem.tile)
    return key, base, lambda plan: partial(decode, q, k, v, launch=plan, **arguments)


def _decode_and_rule(
    problem: Problem, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[Callable[..., Any], LaunchPlan]:
    from gpu_kernels.bernoulli_qk import plan as ternary
    from gpu_kernels.bernoulli_qk.api import bernoulli_qk_decode, bernoulli_qk_flash_decode
    from gpu_kernels.bernoulli_qk.inputs import check_feature_major
    from gpu_kernels.dense import plan as dense
    from gpu_kernels.dense.api import dense_decode
    from gpu_kernels.request import check_decode
    from gpu_kernels.s2anta_comb import plan as comb
    from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
    from gpu_kernels.s2anta_flash import plan as flash
    from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
    from gpu_kernels.s2anta_prop.api import s2anta_prop_decode
    from gpu_kernels.stash_plan import stash_plan

    limits, tile = device_limits(q.device), problem.tile
    common: dict[str, Any] = {"seq_lens": None, "sm_scale": None, "kv_layout": "NHD"}
    if problem.kernel.startswith("bernoulli_qk"):
        found = check_feature_major(q, k, v, trials=problem.trials, scale="exact", k_scale=None,
                                    v_scale=None, **common)
        if problem.kernel == "bernoulli_qk":
            return bernoulli_qk_decode, ternary.plan(found.rows, found.k.stride(2), limits)
        return bernoulli_qk_flash_decode, ternary.score_plan(
            found.rows, found.k.stride(2), tile, limits)
    request = check_decode(q, k, v, **common)
    if problem.kernel == "dense":
        return dense_decode, dense.plan(request, limits)
    if problem.kernel == "s2anta_flash":
        return s2anta_flash_decode, flash.plan(request, tile, limits)
    if problem.kernel == "s2anta_comb":
        return s2anta_comb_decode, comb.plan(request, tile, limits)
    return s2anta_prop_decode, stash_plan(request, tile, limits)


def search(
    problem: Problem, cache: PlanCache, device: torch.device,
    time_us: Callable[[Callable[[], Any]], float],
) -> tuple[LaunchPlan, float]:
    """Time the rule's plan and its neighbours, keep the fastest; returns it and its time in µs.

    time_us: times one call. Plans that the device cannot launch are passed over.
    """
    from triton.runtime.errors import OutOfResources

    key, base, call_of = prepared(problem, device)
    best, least = base, float("inf")
    for plan in candidates(base, problem.kernel not in TILED):
        try:
            found = time_us(call_of(plan))
        except OutOfResources:
            continue
        if found < least:
            best, least = plan, found
    cache.put(key, best, problem.batch, least)
    return best, least


def main(arguments: list[str] | None = None) -> int:
    """Tune one kernel for one size and keep the plan; exit 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.plan_search", description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="the file to add the plan to")
    parser.add_argument("--kernel", choices=KERNELS, required=True)
    sizes = {"batch": 1, "context": 32768, "num-qo-heads": 32, "num-kv-heads": 8, "head-dim": 128,
             "samples": 0, "tile": 0, "trials": 8}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--dtype", choices=("bfloat16", "float16"), default="bfloat16")
    options = parser.parse_args(arguments)
    import torch

    from gpu_kernels.bench.timing import Stopwatch

    if not torch.cuda.is_available():
        print("tuning needs a CUDA device, and none is visible", file=sys.stderr)  # noqa: T201
        return 2
    device = torch.device("cuda")
    watch = Stopwatch(device)
    chosen = {name: value for name, value in vars(options).items() if name != "cache"}
    best, time_us = search(
        Problem(**chosen), PlanCache(options.cache), device,
        lambda call: watch.measure(call, cold=True, repeats=21).time_s * 1e6,
    )
    print(f"{time_us:.1f} us", best)  # noqa: T201 - the command's answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
