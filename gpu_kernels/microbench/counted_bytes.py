"""Command line: `python -m gpu_kernels.microbench.counted_bytes [--out FILE]`.

Runs a few calls under Nsight Compute and writes the DRAM bytes that it counted beside the
expected ones. The profiler empties the caches before each kernel.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

METRICS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_op_write.sum",
    "time_ns": "gpu__time_duration.sum",
}
MARKER = "relay_kernel"
"""An empty kernel that is launched ahead of each call, so that its kernels are told apart."""
KERNELS = (f"{MARKER}|stream_kernel|gather_kernel|dense_kernel|flash_kernel|score_kernel"
           "|draw_kernel|add_parts_kernel|merge_kernel")
MINUTES = 1.5
COLUMNS = ["case", "kernel", *METRICS, "expected_read_bytes", "expected_write_bytes", "profiler"]


def main(arguments: list[str] | None = None) -> int:
    """Count; exit 0, 1 where the profiler refuses, 2 without a GPU or a profiler."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.microbench.counted_bytes",
                                     description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("counted_bytes.csv"), help="CSV to write")
    parser.add_argument("--launch", type=Path, metavar="FILE",
                        help="only launch the calls and write what is expected of each")
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        return _refuse("counting needs PyTorch: pip install 'santa_sim[gpu]'")
    if not torch.cuda.is_available():
        return _refuse("counting needs a CUDA device, and none is visible")
    if options.launch is not None:
        _launch(options.launch)
        return 0
    profiler = which("ncu")
    if profiler is None:
        return _refuse("counting needs Nsight Compute (ncu), which is not on the PATH")
    return _count(profiler, options.out)


def _refuse(line: str) -> int:
    print(line, file=sys.stderr)  # noqa: T201 - the command's answer
    return 2


def _launch(expected: Path) -> None:
    """Launch a marker ahead of each case's preparation and of its call."""
    import torch

    from gpu_kernels.microbench.counted_cases import cases
    from gpu_kernels.microbench.launch_kernel import relay_kernel

    device = torch.device("cuda")
    count = torch.zeros(1, dtype=torch.int32, device=device)

    def mark() -> None:
        relay_kernel[(1,)](count, RELAY=False, PDL=False)

    with expected.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for case in cases(device):
            mark()  # what preparing launches is told apart from the call
            call, read, written = case.prepare()
            mark()
            call()
            torch.cuda.synchronize()
            writer.writerow([case.name, read, written])
            file.flush()


def _count(profiler: str, out: Path) -> int:
    from gpu_kernels.bench.provenance import provenance

    print(f"about {MINUTES} GPU minutes; rows go to {out}", flush=True)  # noqa: T201
    source = provenance()
    with TemporaryDirectory() as folder:
        expected = Path(folder) / "expected.csv"
        command = [
            profiler, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
            "--metrics", ",".join(METRICS.values()), "--kernel-name", f"regex:^({KERNELS})$",
            sys.executable, "-m", "gpu_kernels.microbench.counted_bytes",
            "--launch", str(expected),
        ]
        # a fixed command, with the profiler that the PATH names
        done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
        said = expected.read_text(encoding="utf-8") if expected.exists() else ""
    rows = list(counted_rows(done.stdout, said))
    if done.returncode or not rows:
        tail = (done.stdout + done.stderr).strip().splitlines()[-8:]
        print("not counted: " + " | ".join(tail), file=sys.stderr)  # noqa: T201
    if not rows:
        return 1
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS + list(source))
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"profiler": Path(profiler).name} | source)
            _report(row)
    return 1 if done.returncode else 0


def _report(row: dict[str, Any]) -> None:
    if row["kernel"] == "all":
        read, expected = row["dram_read_bytes"], row["expected_read_bytes"]
        print(f"{row['case']:24} read {read:>12} of {expected:>12} expected"  # noqa: T201
              f" ({read / expected - 1:+.2%}), written {row['dram_write_bytes']} of"
              f" {row['expected_write_bytes']}")


def counted_rows(text: str, expected: str) -> Iterator[dict[str, Any]]:
    """Yield a row per kernel and one for `all` of them, for each case that was launched.

    text: the profiler's output, with a line of column names, one of units, and one per kernel;
    expected: a line `name,bytes read,bytes written` per case, in the same order.
    """
    lines = text.splitlines()
    header = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if header is None:
        return
    kernels = [row for row in csv.DictReader(lines[header:]) if row["ID"]]
    cases = csv.reader(expected.splitlines())
    for (name, read, written), launched in zip(cases, _calls(kernels), strict=False):
        counts = [_counts(row) for row in launched]
        for row, count in zip(launched, counts, strict=True):
            yield {"case": name, "kernel": row["Kernel Name"], "expected_read_bytes": "",
                   "expected_write_bytes": "", **count}
        yield {"case": name, "kernel": "all", "expected_read_bytes": int(read),
               "expected_write_bytes": int(written),
               **{column: sum(count[column] for count in counts) for column in METRICS}}


def _counts(row: dict[str, str]) -> dict[str, int]:
    return {column: round(float(row[metric].replace(",", "")))
            for column, metric in METRICS.items()}


def _calls(kernels: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Return the kernels after each second marker: the first marks what prepares a call."""
    groups: list[list[dict[str, str]]] = []
    for row in kernels:
        if row["Kernel Name"] == MARKER:
            groups.append([])
        elif groups:
            groups[-1].append(row)
    return groups[1::2]


if __name__ == "__main__":
    sys.exit(main())
