"""What a run will cost, said before it begins: time, memory and disk."""

from __future__ import annotations

import time
from collections.abc import Container
from dataclasses import dataclass
from functools import cache

import numpy as np

from hw_models.ledger import Dtype
from santa_sim.methods import decode, method
from santa_sim.study.chunks import task_seconds
from santa_sim.study.plan import Plan
from santa_sim.study.shape import Shape
from santa_sim.study.spec import Seeds

COST_S = 2.5e-3
"""Seconds per point and accelerator for costs and result rows, on one 2026 server core."""
WIDE_ROW_S, WIDE_ROW_BYTES = 8e-6, 130
"""Seconds and bytes on the disk per row of a wide study."""
WORKER_BYTES = 250e6
"""Memory of a Python process with NumPy, Numba and the methods in it."""
ROW_BYTES, LOG_BYTES = 6_000, 3_000
"""Bytes on the disk per result row (its details and its share of the report included), and per
point in the log."""
_RUNNER_BYTES = 200e6


@dataclass(frozen=True)
class Estimate:
    """A rough forecast, good to a factor of about two.

    points, known: in all, and found in the log; rows: of the result table. time_s: wall clock.
    memory_bytes: of all processes together at the worst. disk_bytes: of the run folder.
    """

    points: int
    known: int
    rows: int
    time_s: float
    memory_bytes: float
    disk_bytes: float


def estimate(plan: Plan, known: Container[str], workers: int, *, processes: bool) -> Estimate:
    """Return what a run of the points that are not `known` will take.

    workers: chunks that run at once; processes: whether each is a process of its own, with data of
    its own. Times a small call to learn how fast this machine is.
    """
    detailed = len(plan.points) * len(plan.loaded.accelerators)
    rows = plan.loaded.rows
    missing = [p for p in plan.points if p.key not in known]
    scale = machine_scale()
    work = scale * (sum(p.seconds for p in missing) + COST_S * detailed)
    work += scale * WIDE_ROW_S * rows if plan.loaded.wide else 0.0
    largest = max((_held_bytes(d.shape) for d in plan.loaded.datasets), default=0)
    copies = workers if processes else 2
    return Estimate(
        points=len(plan.points), known=len(plan.points) - len(missing), rows=rows,
        time_s=work / max(1, workers) + (2.0 if processes else 0.5),
        memory_bytes=_RUNNER_BYTES + copies * largest + (workers * WORKER_BYTES if processes else 0)
        + detailed * 2 * ROW_BYTES,
        disk_bytes=detailed * ROW_BYTES + rows * WIDE_ROW_BYTES + len(plan.points) * LOG_BYTES,
    )


def _held_bytes(shape: Shape) -> float:
    """Return the bytes of a dataset in a worker: K, V, and scores and counts of a method."""
    return shape.held_bytes + 8.0 * shape.simulated_qo_heads * shape.rows


@cache
def machine_scale() -> float:
    """Return how many times slower this machine is than the one the estimates are for."""
    heads, n, d = 8, 2048, 64
    rng = np.random.default_rng(0)
    q = rng.standard_normal((1, heads, d), dtype=np.float32)
    k = rng.standard_normal((1, n, 2, d), dtype=np.float32)
    spec = method("s2anta_comb", samples=64)
    times = []
    for _ in range(6):  # the first may compile
        began = time.perf_counter()
        decode(spec, q, k, k)
        times.append(time.perf_counter() - began)
    expected = task_seconds(Shape(1, heads, 2, 2, d, Dtype.FP32, n, 1), spec, "sampled",
                            Seeds(count=1))
    return float(min(times) / expected)
