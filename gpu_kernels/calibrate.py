"""Command line: `python -m gpu_kernels.calibrate MEASUREMENTS… -o CALIBRATION`.

Needs no GPU and no PyTorch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from gpu_kernels.calibration.calibrate_rows import Result, calibrate_rows
from gpu_kernels.calibration.document import document
from gpu_kernels.calibration.rows import differences, read_rows, sha256
from hw_models.gpu.parameters import PARAMETERS
from hw_models.problems import Problem, SpecError


def main(arguments: list[str] | None = None) -> int:
    """Fit the time model of a GPU; exit 0, 2 with one clear line for files that do not serve."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.calibrate", description=__doc__)
    parser.add_argument("measurements", type=Path, nargs="+",
                        help="files that python -m gpu_kernels.microbench wrote (CSV)")
    parser.add_argument("-o", "--out", type=Path, required=True, help="file to write (YAML)")
    options = parser.parse_args(arguments)
    try:
        rows = read_rows(options.measurements)
        for warning in differences(rows):
            sys.stderr.write(f"warning: {warning}\n")
        result = calibrate_rows(rows)
        names = ", ".join(path.name for path in options.measurements)
        text = document(result, rows, names, sha256(options.measurements))
        try:
            options.out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise SpecError(Problem(f"cannot write: {error.strerror or error}",
                                    str(options.out))) from None
    except SpecError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(_report(result, options.out))
    return 0


def _report(result: Result, out: Path) -> str:
    lines = [
        f"{name:20} {result.values[name]:12.5g} ± {result.errors[name] or 0.0:<9.2g}"
        f" {quantity.unit}" for name, quantity in PARAMETERS.items()
    ]
    lines += _errors("fitted on", result.fitted) + _errors("held out", result.held_out)
    return "\n".join([*lines, f"written: {out}"]) + "\n"


def _errors(title: str, groups: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a line per group: |predicted / measured - 1| in percent."""
    return [
        f"{title}: {name:32} n {found['n']:3.0f}  median {found['median']:6.1%}"
        f"  P90 {found['p90']:6.1%}  max {found['max']:6.1%}" for name, found in groups.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
