"""Sweeps: points per second, memory, parallel efficiency, overhead of the runner, resume.

    python benchmarks/sweep.py --out sweep.json

A point is one row of the result table: a method on a dataset on a machine. The wide study has a
million of them, 40 (dataset, method) pairs on 25,000 machines. Every figure is of fresh processes
after one that fills Numba's cache; times are wall clock, so run it on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WIDE = """\
name: wide
title: A million machines and methods
level: expected
data:
  - kind: synthetic
    geometry: llama-3.1-8b
    law: {kind: zipf}
    effective_support: 40
    simulated_kv_heads: 1
    grid: {context: [2048, 4096, 8192, 16384]}
methods:
  - name: dense
  - name: s2anta_comb
    grid: {samples: [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]}
accelerators:
  - base: edge_bf16_7nm_lpddr5
    grid:
      memory.peak_bandwidth: BANDWIDTHS
      memory.energy.board.read: ENERGIES
      buffer.capacity_bytes: [65536, 262144, 1048576, 4194304, 16777216]
"""
SAMPLED = """\
name: sampled
title: Sampled
seeds: {count: SEEDS}
data:
  - kind: synthetic
    geometry: llama-3.1-8b
    law: {kind: zipf}
    effective_support: 40
    simulated_kv_heads: 1
    context: 16384
methods:
  - name: s2anta_comb
    grid: {samples: [16, 32, 64, 128, 256, 512, 1024, 2048], offsets: [own, shared]}
accelerators: [h200_sxm]
"""
TINY = """\
name: tiny
title: Points that are nothing but overhead
level: expected
data:
  - {kind: synthetic, geometry: smollm2-135m, law: {kind: zipf}, effective_support: 2, context: 4}
methods:
  - name: s2anta_comb
    grid: {samples: SAMPLES}
accelerators: [h200_sxm]
"""


def run(study: Path, out: Path, *more: str) -> tuple[float, float]:
    """Run a study in a process of its own; return seconds and the peak of its memory in bytes."""
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  this interpreter
        [sys.executable, "-m", "santa_sim.study", str(study), "--quiet", "--out", str(out), *more],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{study} failed with {status}")
    return time.perf_counter() - began, usage.ru_maxrss * 1024


def spread(low: float, high: float, count: int) -> str:
    """Return `count` numbers from `low` to `high` as a YAML list."""
    step = (high - low) / (count - 1)
    return "[" + ", ".join(f"{low + i * step!r}" for i in range(count)) + "]"


def wide(folder: Path, figures: dict[str, float]) -> None:
    """A million rows: time, memory, and what it takes to go on."""
    study = folder / "wide.yaml"
    study.write_text(
        WIDE.replace("BANDWIDTHS", spread(1e10, 1e12, 100)).replace("ENERGIES", spread(1, 20, 50))
    )
    seconds, peak = run(study, folder / "wide", "--jobs", "2")
    figures["wide_rows_per_s"] = 1e6 / seconds
    figures["wide_s"], figures["wide_peak_bytes"] = seconds, peak
    figures["wide_disk_bytes"] = sum(
        f.stat().st_size for f in (folder / "wide").rglob("*") if f.is_file()
    )
    (folder / "wide" / ".run" / "finished.json").unlink()
    figures["resume_start_s"] = start_of_resume(study, folder / "wide")
    figures["nothing_to_do_s"], _ = run(study, folder / "wide")


def start_of_resume(study: Path, out: Path) -> float:
    """Return seconds from the command to the line that says how many points are there."""
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  this interpreter
        [sys.executable, "-m", "santa_sim.study", str(study), "--out", str(out), "--resume"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    assert process.stderr is not None  # noqa: S101  it is a pipe
    for line in process.stderr:
        if "points are there" in line:
            break
    seconds = time.perf_counter() - began
    process.communicate()
    return seconds


def costing(figures: dict[str, float]) -> None:
    """Rows per second of one core in this process, after warm-up: costs alone, and with Parquet."""
    from santa_sim.study import run_study

    with tempfile.TemporaryDirectory() as name:
        study = Path(name) / "wide.yaml"
        study.write_text(WIDE.replace("BANDWIDTHS", spread(1e10, 1e12, 100)).replace(
            "ENERGIES", spread(1, 20, 50)
        ))
        result = run_study(study, engine="serial")
        assert result.wide is not None  # noqa: S101
        began = time.process_time()
        rows = sum(len(batch) for batch in result.wide.batches())
        figures["costing_rows_per_core_s"] = rows / (time.process_time() - began)
        began = time.process_time()
        result.wide.write(Path(name) / "results.parquet")
        figures["costing_and_writing_rows_per_core_s"] = rows / (time.process_time() - began)


def efficiency(folder: Path, figures: dict[str, float]) -> None:
    """Speed-up of the sampled level at 2 workers over 2, start-up of the program taken off."""
    study, empty = folder / "sampled.yaml", folder / "empty.yaml"
    study.write_text(SAMPLED.replace("SEEDS", "200"))
    empty.write_text(SAMPLED.replace("SEEDS", "2"))
    for engine in ("threads", "processes"):
        took = {
            (name, jobs): min(
                run(path, folder / "out", "--force", "--engine", engine, "--jobs", str(jobs))[0]
                for _ in range(2)
            )
            for name, path in (("full", study), ("empty", empty)) for jobs in (1, 2)
        }
        one, two = (took["full", jobs] - took["empty", jobs] for jobs in (1, 2))
        figures[f"sampled_efficiency_{engine}"] = one / two / 2


def overhead(folder: Path, figures: dict[str, float]) -> None:
    """Seconds per point beyond what the methods and costs take, from the slope over two sizes."""
    from santa_sim.study.load import load_study
    from santa_sim.study.plan import plan
    from santa_sim.study.result_log import ResultLog
    from santa_sim.study.run import run_plan

    spent = {}
    for count in (100, 2100):
        study = folder / "tiny.yaml"
        study.write_text(TINY.replace("SAMPLES", str(list(range(1, count + 1)))))
        planned = plan(load_study(study))
        with ResultLog(folder / f"log{count}") as log:
            began = time.process_time()
            run_plan(planned, engine="serial", log=log)
            whole = time.process_time() - began
        spent[count] = whole, bare(planned)
    (a, b), (c, d) = spent[100], spent[2100]
    figures["overhead_s_per_point"] = ((c - d) - (a - b)) / 2000


def bare(planned: object) -> float:
    """Return CPU seconds of the methods and costs of a plan, called one after the other."""
    from hw_models.evaluate import evaluate
    from santa_sim.study.point import run_expected

    loaded = planned.loaded  # type: ignore[attr-defined]
    steps = loaded.datasets[0].make()
    began = time.process_time()
    for method in loaded.study.methods:
        result = run_expected(method, steps)
        for accelerator in loaded.accelerators:
            evaluate(result.total, accelerator)
    return time.process_time() - began


def main() -> None:
    """Print the figures and write them to --out."""
    parser = argparse.ArgumentParser(description="Measure sweeps.")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    figures: dict[str, float] = {"cores": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        costing(figures)
        overhead(folder, figures)
        wide(folder, figures)
        efficiency(folder, figures)
        shutil.rmtree(folder / "out", ignore_errors=True)
    figures["children_peak_bytes"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    for key, value in figures.items():
        print(f"{key:40s} {value:,.4g}")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
