"""Command line: `python -m gpu_kernels.microbench [--out FILE] [--only NAMES] [--resume]`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from gpu_kernels.microbench.plan import PARTS, expected_seconds, points
from gpu_kernels.microbench.setting import Probe
from hw_models.problems import Problem, SpecError, did_you_mean


def main(arguments: list[str] | None = None) -> int:
    """Measure this GPU; exit 0, 2 with one clear line for a bad request or a missing GPU."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.microbench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("microbench.csv"),
                        help="measurement file to write (CSV)")
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, separated by commas")
    parser.add_argument("--resume", action="store_true",
                        help="add to the file what is not in it yet")
    options = parser.parse_args(arguments)
    try:
        names = _names(options.only)
        import torch
    except SpecError as error:
        return _refuse(str(error))
    except ImportError:
        return _refuse("the microbenchmarks need PyTorch: pip install 'santa_sim[gpu]'")
    if not torch.cuda.is_available():
        return _refuse("the microbenchmarks need a CUDA device, and none is visible")
    try:
        return _run(names, options.out, resume=options.resume)
    except SpecError as error:
        return _refuse(str(error))


def _refuse(line: str) -> int:
    print(line, file=sys.stderr)  # noqa: T201 - the command's answer
    return 2


def _names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in PARTS:
            raise SpecError(Problem(f"no part is called {name}{did_you_mean(name, PARTS)}",
                                    file="--only"))
    return names


def _run(names: list[str], out: Path, *, resume: bool) -> int:
    import torch

    from gpu_kernels.bench.provenance import provenance
    from gpu_kernels.bench.timing import Stopwatch
    from gpu_kernels.board.nvml import open_meter
    from gpu_kernels.microbench.lab import Lab
    from gpu_kernels.microbench.measure import Bench
    from gpu_kernels.microbench.rows_file import RowsFile

    device = torch.device("cuda")
    file = RowsFile(out, provenance(), resume=resume)
    every = points(names, torch.cuda.get_device_properties(device).multi_processor_count)
    missing = [probe for probe in every if not file.has(probe.setting.as_text())]
    _say(f"{len(missing)} of {len(every)} points to measure: about"
         f" {expected_seconds(missing) / 60:.1f} GPU minutes; rows go to {out}")
    bench = Bench(Lab(device), Stopwatch(device), open_meter())
    begin, failed = time.perf_counter(), 0
    for number, probe in enumerate(missing, start=1):
        try:
            row = bench.row(probe)
        except Exception as error:  # one point that this GPU cannot run must not end the others
            failed += 1
            _say(f"not measured: {_label(probe)}: {type(error).__name__}: {error}")
            continue
        file.add(row)
        _say(f"{number:4}/{len(missing)} {time.perf_counter() - begin:5.0f} s {_label(probe)}"
             f" {_result(row)}")
    _say(f"{len(missing) - failed} points in {time.perf_counter() - begin:.0f} s,"
         f" {failed} not measured")
    return 1 if failed else 0


def _label(probe: Probe) -> str:
    text = probe.setting.as_text()
    shown = ("op", "programs", "tile_bytes", "stages", "row_bytes", "density", "order", "columns",
             "num_warps", "heads", "splits", "launches", "dependent", "passes", "read_bytes")
    rest = " ".join(f"{name}={text[name]}" for name in shown if text[name])
    return f"{text['experiment']} {text['kernel']} {text['l2']} {rest}"


def _result(row: dict[str, Any]) -> str:
    answer = f"{row['time_us']} us"
    if row["time_us_p20"] != "":
        answer += f" [{row['time_us_p20']}, {row['time_us_p80']}]"
    if row["time_us"] and row["loaded_bytes"] not in ("", "0"):
        answer += f" {int(row['loaded_bytes']) / float(row['time_us']) / 1e3:.0f} GB/s"
    if row["idle_w"] != "":
        answer += (f" {row['power_counter_w']} W counter, {row['power_integral_w']} W integral,"
                   f" {row['running_sm_clock_mhz']} MHz {row['note']}")
    return answer


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the command's answer


if __name__ == "__main__":
    sys.exit(main())
