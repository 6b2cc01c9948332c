"""The validation on a terminal: summaries, groups, the worst points and the term behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpu_kernels.validation.printed_energy import print_energies
from gpu_kernels.validation.summary import ErrorSummary, summarise
from gpu_kernels.validation.times import TimePoint, groups
from gpu_kernels.validation.validation import Validation

if TYPE_CHECKING:
    from rich.console import Console

TARGETS = {"time": (0.04, 0.08, 0.12), "datasheet": (0.08, None, None),
           "dram_bytes": (None, None, 0.01)}
"""Median, P90 and maximum that are wanted of held-out points."""


def print_validation(found: Validation, console: Console, worst: int) -> None:
    """Print what was fitted on and, apart from it, all held-out points."""
    _summaries(found, console)
    points = found.times.points
    if points:
        _groups(points, console)
        _bounds(points, console)
        _worst(points, console, worst)
    _bytes(found, console)
    if found.joules:
        print_energies(found.joules, console, worst)
    for line in found.times.left_out:
        console.print(f"no prediction: {line}", highlight=False)


def _summaries(found: Validation, console: Console) -> None:
    from rich.table import Table

    table = Table(title="Absolute relative errors, held-out attention kernels", title_style="bold")
    for name in ("", "n", "median", "P90", "max", "wanted"):
        table.add_column(name, justify="left" if name in ("", "wanted") else "right")
    apart = found.unseen_time
    for label, summary, target in (
        ("time, calibrated on microbenchmarks", found.time, TARGETS["time"]),
        *((("  settings never looked at before", apart, TARGETS["time"]),) if apart.n else ()),
        ("time, datasheet only", found.datasheet_time, TARGETS["datasheet"]),
        ("DRAM bytes", found.dram_bytes, TARGETS["dram_bytes"]),
        ("energy", found.energy, (0.05, None, 0.12)),
    ):
        table.add_row(label, *_cells(summary), _wanted(summary, target))
    console.print(table)
    if apart.n:
        console.print(
            "Nothing is fitted on any of them, but some of the model's structure was chosen after "
            "looking at errors of others than those never looked at before.", highlight=False)
    fitted = Table(title="Fitted on: microbenchmarks only", title_style="bold")
    for name in ("part", "n", "median", "P90", "max"):
        fitted.add_column(name, justify="left" if name == "part" else "right")
    for name, part in found.calibration.fitted.items():
        fitted.add_row(name, str(part.n), *(f"{x:.1%}" for x in (part.median, part.p90, part.max)))
    console.print(fitted)


def _cells(summary: ErrorSummary) -> list[str]:
    if not summary.n:
        return ["0", "", "", summary.reason]
    return [str(summary.n), *(f"{x:.2%}" for x in (summary.median, summary.p90, summary.max)
                              if x is not None)]


def _wanted(summary: ErrorSummary, target: Sequence[float | None]) -> str:
    reached = (summary.median, summary.p90, summary.max)
    parts = []
    for name, limit, value in zip(("median", "P90", "max"), target, reached, strict=True):
        if limit is not None:
            met = "" if value is None else " met" if value <= limit else " missed"
            parts.append(f"{name} ≤ {limit:.0%}{met}")
    return ", ".join(parts)


def _groups(points: Sequence[TimePoint], console: Console) -> None:
    from rich.table import Table

    table = Table(title="By kernel and region (a point is in several)", title_style="bold")
    for name in ("group", "n", "bias", "median", "P90", "max", "noise", "within noise"):
        table.add_column(name, justify="left" if name == "group" else "right")
    for name, members in groups(points).items():
        errors = [point.error for point in members]
        table.add_row(
            name, *_cells(summarise(errors))[:1], f"{np.mean(errors):+.1%}",
            *_cells(summarise(errors))[1:], f"±{np.median([p.noise for p in members]):.1%}",
            f"{sum(p.within_noise for p in members)} of {len(members)}")
    console.print(table)


def _bounds(points: Sequence[TimePoint], console: Console) -> None:
    from rich.table import Table

    table = Table(title="Errors by the term that decides", title_style="bold")
    for name in ("term and kernel", "n", "bias", "median", "max"):
        table.add_column(name, justify="left" if name.startswith("term") else "right")
    for bound in sorted({point.bound for point in points}):
        errors = [point.error for point in points if point.bound == bound]
        summary = summarise(errors)
        table.add_row(bound, str(len(errors)), f"{np.mean(errors):+.1%}",
                      f"{summary.median:.1%}", f"{summary.max:.1%}")
    console.print(table)


def _worst(points: Sequence[TimePoint], console: Console, count: int) -> None:
    from rich.table import Table

    table = Table(title="Worst points", title_style="bold")
    for name in ("kernel", "B", "n", "d", "format", "inputs", "S", "L2", "measured", "predicted",
                 "error", "decides"):
        table.add_column(name, justify="right" if name in ("B", "n", "d", "S", "measured",
                                                           "predicted", "error") else "left")
    for point in sorted(points, key=lambda p: -abs(p.error))[:count]:
        sizes, row = point.call.sizes, point.row
        table.add_row(
            point.call.kernel, str(sizes.batch), str(sizes.context), str(sizes.head_dim),
            point.call.dtype, row.text("inputs"), str(point.call.samples or ""), row.text("l2"),
            f"{point.measured_s * 1e6:.1f} µs", f"{point.predicted_s * 1e6:.1f} µs",
            f"{point.error:+.1%}", point.bound)
    console.print(table)


def _bytes(found: Validation, console: Console) -> None:
    from rich.table import Table

    if not found.counted:
        return
    table = Table(title="DRAM bytes, read and written, caches empty ahead of each kernel",
                  title_style="bold")
    for name in ("call", "kernel", "counted", "predicted", "error"):
        table.add_column(name, justify="left" if name in ("call", "kernel") else "right")
    for point in found.counted:
        table.add_row(point.case, point.kernel, f"{point.counted / 1e6:.2f} MB",
                      f"{point.predicted / 1e6:.2f} MB", f"{point.error:+.2%}")
    console.print(table)
