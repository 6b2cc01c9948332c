"""Command line: `python -m gpu_kernels.bench [--config FILE] [--out FILE]`."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_kernels.bench.config import BenchConfig

DEFAULT_CONFIG = Path("benchmarks/decode.yaml")


def main(arguments: list[str] | None = None) -> int:
    """Run the bench; exit 0, or 2 with one clear line for a bad file or a missing GPU."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.bench", description=__doc__)
    parser.add_argument("--config", type=Path, default=DEFAULT_CONFIG, help="what to run (YAML)")
    parser.add_argument("--out", type=Path, help="measurement file to write (CSV)")
    options = parser.parse_args(arguments)

    from gpu_kernels.bench.config import load_config
    from hw_models.problems import SpecError

    try:
        config = load_config(options.config)
        import torch
    except SpecError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the command's answer
        return 2
    except ImportError:
        print("the bench needs PyTorch: pip install 'santa_sim[gpu]'", file=sys.stderr)  # noqa: T201
        return 2
    if not torch.cuda.is_available():
        print(  # noqa: T201
            "the bench needs a CUDA device, and none is visible; the kernels' tests still run"
            " under Triton's interpreter: pytest tests/gpu_kernels", file=sys.stderr,
        )
        return 2
    _run(config, options.out)
    return 0


def _run(config: BenchConfig, out: Path | None) -> None:
    import torch

    from gpu_kernels.bench.call_energy import EnergyBench
    from gpu_kernels.bench.duration import energy_points, expected_seconds
    from gpu_kernels.bench.provenance import provenance
    from gpu_kernels.bench.run import as_row, run_bench
    from gpu_kernels.bench.table import print_row
    from gpu_kernels.bench.timing import Stopwatch
    from gpu_kernels.board.nvml import open_meter
    from gpu_kernels.board.steady import power_w

    _say(f"about {expected_seconds(config) / 60:.1f} GPU minutes, with energy at"
         f" {energy_points(config)} points{f'; rows go to {out}' if out else ''}")
    source = provenance()
    writer, file = None, out.open("w", newline="") if out else None
    fastest: dict[tuple[object, ...], float] = {}
    watch, energy = Stopwatch(torch.device("cuda")), None
    if energy_points(config):
        l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        energy = EnergyBench(open_meter(), l2_bytes)
    for measurement in run_bench(config, watch, _say, energy):
        row = as_row(measurement) | source
        if file is not None:
            if writer is None:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
            writer.writerow(row)
            file.flush()
        print_row(measurement, fastest)
    if file is not None:
        file.close()
    if energy is not None:
        _say(f"idle board: {_watts(energy.idle_w)} before, {_watts(power_w(energy.idle_again()))}"
             " after")


def _watts(power: float | None) -> str:
    return "unknown" if power is None else f"{power:.1f} W"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the command's answer


if __name__ == "__main__":
    sys.exit(main())
