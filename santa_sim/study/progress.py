"""How far a run is: what a caller is told, and the bar that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import TaskID


@dataclass(frozen=True)
class Step:
    """Where a run is.

    done, total: points; reused: of them found in the log. share: of the estimated work that there
    was to do, within 0..1. name: the last point.
    """

    done: int
    total: int
    reused: int
    share: float
    name: str


Progress = Callable[[Step], None]
"""Called when the work begins, and after each point."""


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Show points, rate and time left on stderr."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    # only the name of the point gives way where the terminal is narrow
    whole = Column(no_wrap=True, min_width=7)
    columns = (
        BarColumn(bar_width=16), TextColumn("{task.fields[points]}", table_column=Column(
            no_wrap=True, min_width=24
        )),
        TimeElapsedColumn(table_column=whole.copy()), TextColumn("left"),
        TimeRemainingColumn(table_column=whole.copy()),
        TextColumn("{task.description}", markup=False, table_column=Column(
            no_wrap=True, overflow="ellipsis", ratio=1
        )),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    task: TaskID = bar.add_task("preparing", total=1.0, points="")

    def show(step: Step) -> None:
        bar.start()  # not before the work begins: what is wrong before it is one clean line
        elapsed = bar.tasks[0].elapsed or 0.0
        rate = (step.done - step.reused) / elapsed if elapsed else 0.0
        points = f"{step.done:,}/{step.total:,} points, {rate:,.3g}/s"
        bar.update(task, completed=step.share, points=points, description=step.name)

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()
