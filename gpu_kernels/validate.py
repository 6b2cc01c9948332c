"""Command line: `python -m gpu_kernels.validate [BENCH_FILE…]`.

Predicts every attention kernel of the files, none of which a parameter was fitted on, and prints
the errors. Needs no GPU and no PyTorch but for --measure.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from gpu_kernels.launches.expected_rows import CAPTURE
from gpu_kernels.validation.committed import CALIBRATED
from hw_models.problems import Problem, SpecError, did_you_mean


def main(arguments: list[str] | None = None) -> int:
    """Validate; exit 0, 2 with one clear line for files that do not serve."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.validate", description=__doc__)
    parser.add_argument("timed", type=Path, nargs="*",
                        help="files that python -m gpu_kernels.bench wrote (default: committed)")
    parser.add_argument("--counted", type=Path, nargs="*",
                        help="files of gpu_kernels.microbench.counted_bytes (default: committed)")
    parser.add_argument("--calibration", type=Path, help="YAML of gpu_kernels.calibrate")
    parser.add_argument("--accelerator", default="h200_sxm",
                        help="of the catalogue, for its datasheet and its committed files")
    parser.add_argument("--capture", type=Path, default=CAPTURE,
                        help="npz behind points on captured attention")
    parser.add_argument("--json", action="store_true", help="print only the errors, as JSON")
    parser.add_argument("--worst", type=int, default=12, help="how many of the worst to list")
    parser.add_argument("--measure", type=Path, metavar="FILE",
                        help="bench on this GPU first and validate what it wrote to FILE")
    parser.add_argument("--config", type=Path, default=Path("benchmarks/validation.yaml"),
                        help="what to bench with --measure (YAML)")
    options = parser.parse_args(arguments)
    from gpu_kernels.validation.validation import validate

    try:
        timed, counted, calibration = _files(options)
        if options.measure is not None:
            from gpu_kernels.bench.__main__ import main as bench

            status = bench(["--config", str(options.config), "--out", str(options.measure)])
            if status:
                return status
        found = validate(timed, counted, calibration, options.accelerator, options.capture)
        if not found.times.points:
            raise SpecError(Problem("has no attention kernel with a prediction",
                                    str(timed[0]) if timed else ""))
    except SpecError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for warning in found.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    if options.json:
        sys.stdout.write(json.dumps(found.as_json()) + "\n")
        return 0
    from rich.console import Console

    from gpu_kernels.validation.printed import print_validation

    console = Console()
    # a table that is cut says less than one that wraps
    print_validation(found, console if console.is_terminal else Console(width=160), options.worst)
    return 0


def _files(options: argparse.Namespace) -> tuple[list[Path], list[Path], Path]:
    """Return bench files, files of counted bytes and the calibration: given, else committed."""
    committed = CALIBRATED.get(options.accelerator)
    given = options.measure or options.timed
    if committed is None and (not given or options.calibration is None):
        raise SpecError(Problem(
            f"nothing was measured on '{options.accelerator}'"
            f"{did_you_mean(options.accelerator, CALIBRATED)}: give bench files and --calibration"))
    timed = [options.measure] if options.measure else list(options.timed)
    counted = list(options.counted or [])
    if committed is not None:
        timed = timed or committed.timed
        # counts of another run say nothing about a file that was given
        if options.counted is None and not given and committed.counted is not None:
            counted = [committed.counted]
        return timed, counted, options.calibration or committed.calibration
    return timed, counted, options.calibration


if __name__ == "__main__":
    sys.exit(main())
