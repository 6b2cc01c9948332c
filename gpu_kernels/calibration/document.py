"""The calibration file: numbers printed as far as they are known, so that a refit repeats them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from gpu_kernels.calibration.calibrate_rows import Result
from gpu_kernels.calibration.rows import Row
from hw_models.gpu.parameters import PARAMETERS


def document(result: Result, rows: Sequence[Row], files: str, digest: str) -> str:
    """Return the YAML text of a calibration.

    files: names of the measurement files; digest: their SHA-256. A standard error is printed with
    two digits and its value to the same place; ranges are two standard errors either way.
    """
    timed = next(row for row in rows if row.text("l2") != "steady")
    lines = [
        f"# Written by python -m gpu_kernels.calibrate from {files}; do not edit.",
        f"title: {json.dumps(timed.text('device') + ', fitted on microbenchmarks')}",
        "basis: microbenchmarks",
        f"multiprocessors: {result.multiprocessors}",
        "measured:",
        f"  file: {json.dumps(files)}",
        f"  sha256: {json.dumps(digest)}",
        *(f"  {name}: {json.dumps(timed.text(column))}" for name, column in
          (("device", "device"), ("driver", "driver"), ("timer", "timer"), ("date", "date_utc"))),
        "parameters:",
    ]
    for name, quantity in PARAMETERS.items():
        lines += [f"  {name}:", *_parameter(result.values[name], result.errors[name]),
                  f"    unit: {json.dumps(quantity.unit)}",
                  f"    meaning: {json.dumps(quantity.meaning, ensure_ascii=False)}",
                  f"    origin: {json.dumps(result.origins[name])}"]
    for title, groups in (("fitted", result.fitted), ("held_out", result.held_out)):
        lines += [f"{title}:", *(
            f"  {json.dumps(name)}: {{n: {found['n']:.0f}, median: {found['median']:.3f}, "
            f"p90: {found['p90']:.3f}, max: {found['max']:.3f}}}"
            for name, found in groups.items()
        )]
    return "\n".join(lines) + "\n"


def _parameter(value: float, error: float | None) -> list[str]:
    if not error:
        shown = f"{value:.6g}"
        return [f"    value: {shown}", f"    low: {shown}", f"    high: {shown}"]
    place = math.floor(math.log10(error)) - 1
    lines = [f"    value: {to_place(value, place)}",
             f"    low: {to_place(max(0.0, value - 2 * error), place)}",
             f"    high: {to_place(value + 2 * error, place)}"]
    return [*lines, f"    standard_error: {to_place(error, place)}"]


def to_place(value: float, place: int) -> str:
    """Return a number rounded to the decimal place 10^place, in scientific notation."""
    if value == 0:
        return "0.0"
    digits = max(0, math.floor(math.log10(abs(value))) - place)
    return f"{value:.{digits}e}"
