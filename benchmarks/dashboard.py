"""The explorer at a million points: its start, its answers to filters, its memory.

    python benchmarks/dashboard.py [--rows 1000000] [--run DIR]

Starts `python -m santa_sim.dashboard` on a run of that size and asks as its page does: each filter
alone, all open, joined. Seconds are of whole answers over HTTP and of the server's CPU; memory is
the most that the server held resident. DIR keeps the run for another time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

from large_runs import write_large_run

REPEATS = 3


def ask(url: str, view: dict[str, object]) -> tuple[float, int]:
    """Return seconds and bytes of one answer."""
    start = time.perf_counter()
    with urlopen(f"{url}rows?view={quote(json.dumps(view))}") as answer:  # noqa: S310
        body = answer.read()
    return time.perf_counter() - start, len(body)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has taken, all threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def views(facets: dict[str, list[str]]) -> dict[str, dict[str, object]]:
    """Return what is asked, by name."""
    everything = dict.fromkeys(facets)
    common = {"cost": "energy", "boundary": "board", "budget": 0.1, "baseline": "dense",
              "along": "context", "picked": []}
    wanted = {"all": everything}
    for name, values in facets.items():
        if len(values) > 1:
            wanted[f"one {name}"] = {**everything, name: values[:1]}
            wanted[f"half of {name}"] = {**everything, name: values[:len(values) // 2]}
    wanted["joined"] = {name: values[:2] for name, values in facets.items()}
    return {name: {**common, "wanted": given} for name, given in wanted.items()}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--study", default="studies/quickstart.yaml")
    parser.add_argument("--run", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run = options.run or Path(temporary)
        if not (run / "provenance.json").exists():
            run.mkdir(parents=True, exist_ok=True)
            print(f"written  {write_large_run(options.study, options.rows, run):,} rows, "
                  f"{sum(f.stat().st_size for f in run.iterdir()) / 1e6:.0f} MB")
        start = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "santa_sim.dashboard", str(run), "--port", "0"],
            stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().strip()
            print(f"started  {time.perf_counter() - start:.1f} s")
            facets = facets_of(run)
            for name, view in views(facets).items():
                before = cpu_s(server.pid)
                times, sizes = zip(*(ask(url, view) for _ in range(REPEATS)), strict=True)
                work = (cpu_s(server.pid) - before) / REPEATS
                print(f"{name:<22} {statistics.median(times):6.2f} s (at most {max(times):.2f}), "
                      f"{work:.2f} s of CPU, {sizes[0] / 1e6:.2f} MB", flush=True)
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
            most = re.search(r"VmHWM:\s+(\d+)", status)
            print(f"memory   {int(most[1]) / 1e6:.2f} GB at most")
        finally:
            server.terminate()
            server.wait()


def facets_of(run: Path) -> dict[str, list[str]]:
    """Return the values of every facet, read from the run itself."""
    import duckdb

    columns = {"folder": f"'{run.name}'", "attention": "dataset", "context": "context",
               "batch": "batch", "accelerator": "accelerator", "method": "method",
               "samples": "coalesce(CAST(samples_requested AS VARCHAR), 'none')"}
    source = f"read_parquet('{run / 'results.parquet'}')"
    return {
        name: [str(v) for (v,) in duckdb.sql(
            f"SELECT DISTINCT {column} AS v FROM {source} ORDER BY v").fetchall()]
        for name, column in columns.items()
    }


if __name__ == "__main__":
    main()
