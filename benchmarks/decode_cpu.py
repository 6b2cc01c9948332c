"""Decode attention on one CPU core, against the core's own read bandwidth and against NumPy.

Run it with one thread per library and on one core:

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 taskset -c 0 \
        python benchmarks/decode_cpu.py --out decode_cpu.json

All times are CPU seconds of the thread, so that other work on the machine that takes the core away
does not count (what it does to caches and memory does). Candidates take turns, and every run uses
another copy of keys and values than the run before it, so that none finds its keys in a cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy_decode import PRODUCTS, at_thresholds, dense, flash, systematic

from hw_models.ledger import Dtype
from santa_sim.kernels.scores import head_scores
from santa_sim.methods import decode, method
from santa_sim.storage import encode

HEADS, KV_HEADS, HEAD_DIM, TILE = 32, 8, 128, 64
COPIES = 2
DENSE = "dense in NumPy"
TARGETS = {
    "score stage fp32": 0.80, "score stage bf16": 0.60, "score stage fp16": 0.60,
    "bf16 against NumPy": 5.0, "fp32 against NumPy": 1.8, "peak memory": 1.3,
}


@dataclass(frozen=True)
class Spread:
    """Seconds over the repeats."""

    median: float
    low: float
    high: float


@njit(nogil=True, fastmath={"reassoc", "contract"})
def sum_singles(numbers):
    """Sum float32 numbers in any order."""
    total = np.float32(0)
    for i in range(numbers.shape[0]):
        total += numbers[i]
    return total


@njit(nogil=True)
def xor_of_four_streams(words):
    """Combine int64 words, four quarters of the array side by side."""
    quarter = words.shape[0] // 4
    a = b = c = d = 0
    for i in range(quarter):
        a ^= words[i]
        b ^= words[quarter + i]
        c ^= words[2 * quarter + i]
        d ^= words[3 * quarter + i]
    return a ^ b ^ c ^ d


READERS: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum of float32": (sum_singles, np.float32),
    "xor of int64, four streams": (xor_of_four_streams, np.int64),
}


def caches(context: int, dtype: Dtype) -> list[tuple[Any, Any, Any]]:
    """Return COPIES of (q [1, H, d], k, v [1, n, KVH, d]), normal numbers as stored."""
    rng = np.random.default_rng(1)
    q = rng.standard_normal((1, HEADS, HEAD_DIM)).astype(np.float32)
    shape = (1, context, KV_HEADS, HEAD_DIM)
    return [
        (q, *(encode(rng.standard_normal(shape, np.float32), dtype) for _ in "kv"))
        for _ in range(COPIES)
    ]


def timed(candidates: dict[str, Callable[[int], Any]], repeats: int) -> dict[str, Spread]:
    """Run candidates in turns; the first turn is not counted.

    Each run gets a number, whose remainder by COPIES says which caches to use: not the ones that
    the run before it has just read. Who goes first changes from turn to turn, so that everyone
    meets every copy and every predecessor's leftovers alike.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    names = list(candidates)
    number = 0
    for turn in range(repeats + 1):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            start = time.thread_time()
            candidates[name](number)
            seconds[name].append(time.thread_time() - start)
            number += 1
    return {
        name: Spread(statistics.median(runs[1:]), min(runs[1:]), max(runs[1:]))
        for name, runs in seconds.items()
    }


def score_stage(data: list[Any], repeats: int) -> dict[str, Spread]:
    """Time the readers of K and the score stage of all heads."""
    context = data[0][1].shape[1]
    out = np.empty((HEADS, context), np.float32)

    def reader(read: Callable[..., Any], as_type: Any) -> Callable[[int], Any]:
        return lambda number: read(data[number % COPIES][1].reshape(-1).view(as_type))

    def scores(number: int) -> None:
        q, k, _ = data[number % COPIES]
        head_scores(q[0], k[0], out)

    return timed(
        {name: reader(*what) for name, what in READERS.items()} | {"scores": scores}, repeats
    )


def methods(samples: int) -> dict[str, tuple[Any, Callable[..., Any] | None]]:
    """Return name -> (our method, the same method in NumPy or None)."""

    def ours(name: str, **more: Any) -> Any:
        return method(name, samples=samples, **more)

    comb = partial(systematic, samples=samples)
    return {
        "dense": (method("dense", tile=TILE), dense),
        "santa_iid": (ours("santa_iid"), partial(at_thresholds, samples=samples, stratified=False)),
        "santa_stratified": (
            ours("santa_stratified"), partial(at_thresholds, samples=samples, stratified=True)
        ),
        "santa_systematic": (ours("santa_systematic"), comb),
        "s2anta_comb": (ours("s2anta_comb", tile=TILE), comb),
        "s2anta_prop": (ours("s2anta_prop", tile=TILE), None),
        "s2anta_flash": (
            ours("s2anta_flash", tile=TILE), partial(flash, samples=samples, tile=TILE)
        ),
    }


def whole_method(
    spec: Any, counterpart: Callable[..., Any] | None, data: list[Any], repeats: int
) -> dict[str, Spread]:
    """Time `decode`, exact attention in NumPy and, by both products, the same method in NumPy."""

    def ours(number: int) -> None:
        decode(spec, *data[number % COPIES], check_finite=False)  # as studies do, and NumPy

    def numpy(run: Callable[..., Any], how: str) -> Callable[[int], Any]:
        def once(number: int) -> None:
            q, k, v = data[number % COPIES]
            run(q[0], k[0], v[0], product=how)

        return once

    candidates = {"ours": ours, DENSE: numpy(dense, "matmul")}
    if counterpart is not None:
        candidates |= {how: numpy(counterpart, how) for how in PRODUCTS}
    return timed(candidates, repeats)


def peak_memory_ratio(spec: Any, step: tuple[Any, Any, Any]) -> float:
    """Return (bytes of k and v + the largest sum of NumPy buffers alive in `decode`) over k and v.

    By tracemalloc, which sees NumPy's buffers; what kernels allocate inside Numba, at most a few
    hundred KiB here, it does not see.
    """
    q, k, v = step
    tracemalloc.start()
    decode(spec, q, k, v, check_finite=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1 + peak / (k.nbytes + v.nbytes)


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = {line.split(":")[1].strip() for line in lines if line.startswith("model name")}
    return {
        "cpu": sorted(model), "cores": os.cpu_count(),
        "cores_used": sorted(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "numba", "llvmlite")},
        "threads": {
            name: os.environ.get(name, "")
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        },
    }


def measure(context: int, repeats: int) -> list[dict[str, Any]]:
    """Return one record per line of the table."""
    rows: list[dict[str, Any]] = []

    def add(what: str, ratio: float, target: float | None, times: dict[str, Spread]) -> None:
        rows.append({
            "what": what, "ratio": ratio, "target": target,
            "seconds": {name: asdict(spread) for name, spread in times.items()},
        })
        wanted = "" if target is None else f"target {target:g}"
        ms = ", ".join(
            f"{name} {s.median * 1e3:.2f} ({s.low * 1e3:.2f}..{s.high * 1e3:.2f})"
            for name, s in times.items()
        )
        print(f"{what:38} {ratio:6.2f} {wanted:12} {ms}", flush=True)

    print(f"{'what':38} {'ratio':>6} {'':12} median (lowest..highest) in ms of CPU time")
    for dtype in (Dtype.FP32, Dtype.BF16, Dtype.FP16):
        data = caches(context, dtype)
        name = dtype.value
        times = score_stage(data, repeats)
        read = min(times[reader].median for reader in READERS)
        gigabytes = data[0][1].nbytes / read / 1e9
        add(f"score stage {name} ({gigabytes:.0f} GB/s)", read / times["scores"].median,
            TARGETS[f"score stage {name}"], times)
        if dtype is Dtype.FP16:
            continue
        for label, (spec, counterpart) in methods(context // 128).items():
            times = whole_method(spec, counterpart, data, max(3, repeats // 3))
            if counterpart is not None:
                best = min(times[how].median for how in PRODUCTS)
                add(f"{label} {name}, same in NumPy", best / times["ours"].median,
                    TARGETS[f"{name} against NumPy"], times)
            add(f"{label} {name}, {DENSE}", times[DENSE].median / times["ours"].median,
                TARGETS[f"{name} against NumPy"], {} if counterpart else times)
            add(f"{label} {name} peak memory", peak_memory_ratio(spec, data[0]),
                TARGETS["peak memory"], {})
    return rows


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--context", type=int, default=32768, help="keys n, a multiple of 128")
    parser.add_argument("--repeats", type=int, default=21, help="counted turns per candidate")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    facts = machine()
    print(json.dumps(facts))
    rows = measure(options.context, options.repeats)
    if options.out:
        text = json.dumps({"machine": facts, "context": options.context, "rows": rows}, indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
