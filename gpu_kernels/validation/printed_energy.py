"""Energies on a terminal: by kernel, and the worst points with what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpu_kernels.validation.energies import EnergyPoint
from gpu_kernels.validation.summary import summarise

if TYPE_CHECKING:
    from rich.console import Console


def print_energies(points: Sequence[EnergyPoint], console: Console, worst: int) -> None:
    """Print errors by kernel, with the bias that is left at the measured times, then the worst."""
    _kernels(points, console)
    _worst(points, console, worst)


def _kernels(points: Sequence[EnergyPoint], console: Console) -> None:
    from rich.table import Table

    table = Table(title="Joules of a call, repeated for seconds, idle board included",
                  title_style="bold")
    for name in ("kernel", "n", "bias", "median", "max", "bias at measured time"):
        table.add_column(name, justify="left" if name == "kernel" else "right")
    for kernel in sorted({point.call.kernel for point in points}):
        mine = [point for point in points if point.call.kernel == kernel]
        errors = [point.error for point in mine]
        summary = summarise(errors)
        table.add_row(kernel, str(len(mine)), f"{np.mean(errors):+.1%}", f"{summary.median:.1%}",
                      f"{summary.max:.1%}",
                      f"{np.mean([point.error_at_measured_time for point in mine]):+.1%}")
    console.print(table)


def _worst(points: Sequence[EnergyPoint], console: Console, count: int) -> None:
    from rich.table import Table

    table = Table(title="Worst energies", title_style="bold")
    left = ("kernel", "format")
    for name in ("kernel", "B", "n", "d", "format", "S", "measured", "predicted", "error",
                 "at measured time", "board", "memory as read", "predicted board", "its memory"):
        table.add_column(name, justify="left" if name in left else "right")
    for point in sorted(points, key=lambda p: -abs(p.error))[:count]:
        sizes, load = point.call.sizes, point.load
        read = "" if point.memory_read_w is None else f"{point.memory_read_w:.0f} W"
        table.add_row(
            point.call.kernel, str(sizes.batch), str(sizes.context), str(sizes.head_dim),
            point.call.dtype, str(point.call.samples or ""), f"{point.measured_j * 1e3:.1f} mJ",
            f"{load.energy_j * 1e3:.1f} mJ", f"{point.error:+.1%}",
            f"{point.error_at_measured_time:+.1%}", f"{point.measured_w:.0f} W", read,
            f"{load.power_w:.0f} W", f"{load.work.memory_j / load.time_s:.0f} W")
    console.print(table)
