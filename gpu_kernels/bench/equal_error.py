"""Kernels compared where they err alike: `python -m gpu_kernels.bench.equal_error FILE`."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_kernels.bench.table import DENSE

if TYPE_CHECKING:
    import pandas as pd

POINT = ["batch", "context", "num_qo_heads", "num_kv_heads", "head_dim", "dtype", "kv_layout",
         "inputs", "l2"]
BUDGET = ("samples", "tile", "trials")
DEFAULT_ERRORS = (0.3, 0.2, 0.11)
COLUMNS = {*POINT, "kernel", *BUDGET, "time_us", "rel_error"}


def at_equal_error(table: pd.DataFrame, errors: tuple[float, ...]) -> pd.DataFrame:
    """Return each kernel's fastest configuration that errs by no more than each limit.

    table: rows of a measurement file. errors: limits of ‖out − exact‖/‖exact‖. Only points where a
    kernel was timed at several budgets count.
    Returns a row per point, limit and kernel: POINT, max_error, kernel, samples, tile, trials,
    rel_error, time_us, and speedup, the time of the fastest dense kernel there over the kernel's;
    the last six are missing where no budget that was timed is as exact.
    Raises `ValueError` naming a column that the file lacks.
    """
    import pandas as pd

    if missing := sorted(COLUMNS - set(table)):
        raise ValueError(f"columns {', '.join(missing)} are missing")
    rows = []
    for point, there in table.groupby(POINT, sort=True):
        dense = there[there["kernel"].isin(DENSE)]
        sampled = there.drop(dense.index)
        budgets = sampled.groupby("kernel")[list(BUDGET)].nunique().max(axis=1)
        if dense.empty or budgets.empty or budgets.max() < 2:
            continue
        for limit in errors:
            for kernel, tried in sampled.groupby("kernel", sort=True):
                row = dict(zip(POINT, point, strict=True)) | {"max_error": limit, "kernel": kernel}
                exact = tried[tried["rel_error"] <= limit]
                if not exact.empty:
                    best = exact.sort_values("time_us", kind="stable").iloc[0]
                    row |= {name: best[name] for name in (*BUDGET, "rel_error", "time_us")}
                    row["speedup"] = dense["time_us"].min() / best["time_us"]
                rows.append(row)
    columns = [*POINT, "max_error", "kernel", *BUDGET, "rel_error", "time_us", "speedup"]
    return pd.DataFrame(rows, columns=columns)


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison; exit 2 if the file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.bench.equal_error",
                                     description=__doc__)
    parser.add_argument("file", type=Path, help="measurement file of `python -m gpu_kernels.bench`")
    parser.add_argument("--errors", type=float, nargs="+", default=DEFAULT_ERRORS,
                        help="largest relative errors to compare at")
    parser.add_argument("--inputs", default="capture", help="inputs whose name begins so")
    options = parser.parse_args(arguments)
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    try:
        table = pd.read_csv(options.file)
        found = at_equal_error(table[table["inputs"].str.startswith(options.inputs)],
                               tuple(options.errors))
    except (OSError, ValueError, KeyError) as error:
        print(f"{options.file}: {error}", file=sys.stderr)  # noqa: T201 - the command's answer
        return 2
    console = Console(width=110)
    for geometry, there in found.groupby(POINT[2:], sort=False):
        heads, kv_heads, dim, dtype, layout, inputs, l2 = geometry
        shown = Table(title=f"H = {heads}, KVH = {kv_heads}, d = {dim}, {dtype}, {layout},"
                            f" {inputs}, {l2} L2")
        for name in ("B", "n", "error ≤", "kernel", "S", "tile", "trials", "error", "µs",
                     "speed-up"):
            shown.add_column(name, justify="left" if name == "kernel" else "right")
        for row in there.to_dict("records"):
            shown.add_row(str(row["batch"]), str(row["context"]), f"{row['max_error']:g}",
                          row["kernel"], *_timed(row))
        console.print(shown)
    if found.empty:
        console.print("no point has a kernel at several budgets")
    return 0


def _timed(row: Mapping[Any, Any]) -> list[str]:
    if math.isnan(row["time_us"]):
        return ["–"] * 6
    return [f"{row['samples']:.0f}", f"{row['tile']:.0f}", f"{row['trials']:.0f}",
            f"{row['rel_error']:.3f}", f"{row['time_us']:.1f}", f"{row['speedup']:.2f}"]


if __name__ == "__main__":
    sys.exit(main())
