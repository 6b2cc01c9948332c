"""The event level: seconds per simulated decode step, and where they go.

Run it on one core:

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 taskset -c 0 python benchmarks/pipeline.py

One layer of Llama-3.1-8B (H = 32, KVH = 8, d = 128, bf16), B = 1, on the LPDDR5 pipeline. CPU
seconds of the process, best of a few repeats: the sampled level that draws the rows, the schedule
made from them, and the run in time, which holds the simulation of the memory alone for its share.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hw_models.catalogue import load_accelerator
from santa_sim.data.attention import AttentionStep
from santa_sim.event import KvLayout, StepShape, memory_of, plan, run
from santa_sim.methods import decode, method
from santa_sim.methods.spec import label

HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
TARGET_S = 5.0


def step_of(context: int) -> AttentionStep:
    """Return a decode step of Gaussian numbers in bf16; only its drawn rows depend on them."""
    rng = np.random.default_rng(0)

    def stored(*shape: int) -> Any:
        return (rng.standard_normal(shape, np.float32).view(np.uint32) >> 16).astype(np.uint16)

    q = (stored(1, HEADS, HEAD_DIM).astype(np.uint32) << 16).view(np.float32)
    k, v = (stored(1, context, KV_HEADS, HEAD_DIM) for _ in range(2))
    return AttentionStep(q, k, v, np.array([context]), HEAD_DIM**-0.5, 0, 0, "made up", "made up")


def best_cpu_s(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the least CPU seconds of several runs after one that warms up, and the result."""
    result = work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def main() -> None:
    """Print one line per method and context."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--context", type=int, nargs="*", default=[8192, 32768])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    accelerator = load_accelerator("edge_stages_bf16_7nm_lpddr5")
    memory = memory_of(accelerator)
    print("| n | method | draw, s | plan, s | run, s | all, s | of target | steps | bursts "
          "| M bursts/s | simulated | of roofline |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for context in options.context:
        step = step_of(context)
        shape = StepShape.of(step)
        for spec in (
            method("dense"), method("s2anta_flash", samples=context // 16),
            method("s2anta_comb", samples=context // 128), method("santa_systematic", samples=256),
        ):
            draw_s, decoded = best_cpu_s(
                lambda spec=spec, step=step: decode(
                    spec, step.q, step.k, step.v, check_finite=False
                ), options.repeats,
            )
            plan_s, made = best_cpu_s(
                lambda spec=spec, shape=shape, d=decoded: plan(
                    spec, shape, d.rows, d.ledger, accelerator, KvLayout.HND, memory
                ), options.repeats,
            )
            run_s, report = best_cpu_s(
                lambda made=made: run(made, accelerator, memory), options.repeats
            )
            whole = draw_s + plan_s + run_s
            bursts = int(report.channels.requests.sum())
            print(
                f"| {context:,} | `{label(spec)}` | {draw_s:.3f} | {plan_s:.2f} | {run_s:.2f} "
                f"| {whole:.2f} | {whole / TARGET_S:.2f} | {len(made.schedule.steps):,} "
                f"| {bursts:,} | {bursts / run_s / 1e6:.1f} | {report.time_s * 1e6:.0f} µs "
                f"| {report.time_s / report.bounds.roofline_s:.3f} |"
            )


if __name__ == "__main__":
    main()
