"""The DRAM core: requests per second, shares of peak, and a comparison with DRAMsim3.

Run it on one core:

    taskset -c 0 python benchmarks/dram_core.py

Times are CPU seconds of the process, the best of a few repeats, and stand beside a copy of the same
number of 64-byte lines in the same run. `simulate` is timed whole: checks, address mapping, sorting
by channel, simulation, statistics and energy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw_models.dram import DramSpec, Policy, load_dram, make_requests, simulate

PARTS = ("gddr6_14000", "hbm2e_3200", "hbm3_6400", "hbm3e_6400", "lpddr5_6400", "ddr5_4800")
LINE_BYTES = 64

DRAMSIM3 = {
    "dramsim3_hbm2_8gb_x128": (152.0, 61.0, 48),
    "dramsim3_ddr4_8gb_x8_3200": (17.3, 18.7, 80),
    "dramsim3_gddr6_8gb_x16": (114.0, 29.0, 32),
}
"""Its GB/s for its stream and its random generator, 1,000,000 cycles; requests in our one queue.

It has two levels of queues per channel (HBM2: 32 commands and 16 + 16 transactions; DDR4 and GDDR6:
8 commands per bank and 16 + 16 or 32 + 32 transactions) and drains writes in batches; our queue is
one. Its size is chosen, once per memory, for both generators.
"""
STREAM_BYTES, STRIDE_BYTES = 2 << 20, 64


def best_cpu_s(work: Callable[[], object], repeats: int) -> float:
    """Return the least CPU seconds of several runs, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def sequential(spec: DramSpec, n: int) -> NDArray[np.void]:
    """Reads of consecutive bursts."""
    return make_requests(np.arange(n) * spec.organisation.burst_bytes)


def scattered(spec: DramSpec, n: int, seed: int = 0) -> NDArray[np.void]:
    """Reads of uniformly random bursts."""
    shape = spec.organisation
    bursts = np.random.default_rng(seed).integers(0, shape.capacity_bytes // shape.burst_bytes, n)
    return make_requests(bursts * shape.burst_bytes)


def activation_bound(spec: DramSpec) -> float:
    """Return B/s if every burst needs an activation: tRRD_S, tFAW, t32AW and tRC by hand."""
    t, shape = spec.timing, spec.organisation
    gap = max(t.tRRD_S, t.tFAW / 4, (t.t32AW or 0) / 32, t.tRC / shape.banks) / shape.ranks
    return shape.channels * shape.burst_bytes / (max(gap, t.tBL) * t.tCK_ps * 1e-12)


def speed(n: int, repeats: int) -> None:
    """Print requests per second and what the simulated memories reach."""
    lines = np.ones((n, LINE_BYTES), np.uint8)
    target = np.empty_like(lines)
    copy_s = best_cpu_s(lambda: np.copyto(target, lines), repeats)
    print(f"copy of {n} lines of {LINE_BYTES} B: {n / copy_s / 1e6:.0f} M lines/s\n")
    print("| memory | trace | M requests/s | of copy | GB/s | of peak | of activation bound |")
    print("|---|---|---|---|---|---|---|")
    for name in PARTS:
        spec = load_dram(name)
        for trace, requests in (
            ("stream", sequential(spec, n)), ("random", scattered(spec, n))
        ):
            cpu_s = best_cpu_s(lambda spec=spec, r=requests: simulate(spec, r), repeats)
            reached = simulate(spec, requests).bandwidth_bytes_per_s
            bound = f"{reached / activation_bound(spec):.3f}" if trace == "random" else ""
            print(
                f"| {name} | {trace} | {n / cpu_s / 1e6:.1f} | {copy_s / cpu_s:.3f} "
                f"| {reached / 1e9:.1f} | {reached / spec.peak_bytes_per_s:.3f} | {bound} |"
            )


def add_two_arrays(
    spec: DramSpec, cycles: int, rng: np.random.Generator
) -> tuple[NDArray[np.void], Policy]:
    """DRAMsim3's stream: read a[i] and b[i], write c[i], up to three requests per cycle.

    The arrays start anywhere; a request for a burst that is already waiting costs nothing.
    """
    g = spec.organisation.burst_bytes
    most = spec.organisation.capacity_bytes - STREAM_BYTES
    rounds = []
    for _ in range(-(-cycles * STRIDE_BYTES // STREAM_BYTES)):
        base = rng.integers(0, most, 3) // STRIDE_BYTES * STRIDE_BYTES
        rounds.append(base + np.arange(0, STREAM_BYTES, max(STRIDE_BYTES, g))[:, None])
    address = np.concatenate(rounds).ravel() // g * g
    requests = make_requests(address, 0, np.arange(len(address)) % 3 == 2)
    return requests, Policy(requests_per_cycle=3)


def anywhere(
    spec: DramSpec, cycles: int, rng: np.random.Generator
) -> tuple[NDArray[np.void], Policy]:
    """DRAMsim3's random generator: one request per cycle, one third writes."""
    shape = spec.organisation
    bursts = rng.integers(0, shape.capacity_bytes // shape.burst_bytes, cycles // 2)
    requests = make_requests(bursts * shape.burst_bytes, 0, rng.random(len(bursts)) < 1 / 3)
    return requests, Policy(requests_per_cycle=1)


def comparison(seeds: int) -> None:
    """Print our bandwidths beside DRAMsim3's on its presets: mean and range over seeds."""
    print("\n| memory | queue | generator | DRAMsim3, GB/s | ours | range | difference | hits |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (stream, random, queue) in DRAMSIM3.items():
        spec = load_dram(name)
        for theirs, generate in ((stream, add_two_arrays), (random, anywhere)):
            ours, hits = [], []
            for seed in range(seeds):
                requests, policy = generate(spec, 400_000, np.random.default_rng(seed))
                report = simulate(spec, requests, policy=policy, queue=queue)
                ours.append(report.bandwidth_bytes_per_s / 1e9)
                hits.append(report.channels.total.row_hits[0] / len(requests))
            mean = float(np.mean(ours))
            print(
                f"| {name} | {queue} | {generate.__name__} | {theirs:.1f} | {mean:.1f} "
                f"| {min(ours):.1f} to {max(ours):.1f} | {100 * (mean / theirs - 1):+.1f} % "
                f"| {np.mean(hits):.3f} |"
            )


def main() -> None:
    """Run both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    speed(options.requests, options.repeats)
    comparison(options.seeds)


if __name__ == "__main__":
    main()
