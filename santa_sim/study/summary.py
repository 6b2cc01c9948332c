"""What the command line prints: the plan of a study, and the table at its end."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape

from santa_sim.methods.spec import label
from santa_sim.report.printed import MISSING, percent, plain, si
from santa_sim.report.selection import cheapest_within_budget, dense_row
from santa_sim.report.tables import ReportTables
from santa_sim.report.view import ERROR_BUDGET, Case, View
from santa_sim.study.estimate import Estimate
from santa_sim.study.machines import Machines
from santa_sim.study.plan import Plan

PIPED_COLUMNS = 110
"""Width of the table where stdout is no terminal that could say its own."""


def print_plan(plan: Plan, forecast: Estimate, target: Path) -> None:
    """Print what a study would run, what that would take, and where it would write."""
    loaded = plan.loaded
    study, data = loaded.study, loaded.datasets
    there = f" ({forecast.known:,} of them are there)" if forecast.known else ""
    lines = [
        f"{study.title}",
        f"{len(data)} datasets: " + ", ".join(f"{d.name} n={d.context}" for d in data),
        f"{len(study.methods)} methods: " + ", ".join(map(label, study.methods)),
        f"{sum(len(m.names) for m in loaded.machines):,} accelerators: "
        + ", ".join(_machine_words(m) for m in loaded.machines),
        f"level {study.level}, {study.seeds.count} seeds from {study.seeds.first}; "
        f"{forecast.points:,} points{there}, {forecast.rows:,} result rows -> {target}",
        f"about {_duration(forecast.time_s)}, {forecast.memory_bytes / 1e9:.1f} GB of memory, "
        f"{max(1, round(forecast.disk_bytes / 1e6)):,} MB of disk (within a factor of about two)",
    ]
    if study.event:
        runs = forecast.rows * len(study.event)
        lines.append(f"{len(study.event)} ways to run them in time, {runs:,} runs")
    print("\n".join(lines))  # noqa: T201


def _machine_words(machines: Machines) -> str:
    if not machines.changes:
        return machines.base.name
    return (
        f"{machines.base.name} with {len(machines.changes):,} choices of "
        + " × ".join(machines.changes[0])
    )


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def print_summary(tables: ReportTables) -> None:
    """Print, for each case and accelerator, dense attention and the best method within the budget.

    Best: least energy, in the widest account that the machine has, among the methods whose relative
    error keeps the budget.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    view = View(tables)
    table = Table(title=escape(tables.title), box=box.SIMPLE_HEAD, caption=(
        "per decode step and layer; best: least energy in the machine's widest account with "
        f"relative error up to {percent(ERROR_BUDGET)}; dense / best: how many times less than "
        "dense (where dense cannot run: on the twin that can)"
    ))
    # fixed widths: rich shrinks columns with a minimum below it, and cuts others off instead
    longest = max(map(len, view.accelerators))
    table.add_column("accelerator", width=max(longest, 26))
    table.add_column("best method", width=26)
    for heading in ("error", "energy", "dense / best", "time", "dense / best"):
        table.add_column(heading, justify="right", no_wrap=True)
    for case in view.cases:
        table.add_section()
        table.add_row(f"[bold]{escape(case.label)}[/bold]")
        for name in view.accelerators:
            table.add_row(*_cells(view, case, name))
    console = Console()
    width = console.width if console.is_terminal else PIPED_COLUMNS
    # rich cuts off columns that do not fit, where a terminal would wrap the lines; its minimum
    # leaves out the padding and the dividers
    needed = Console(width=1000).measure(table).minimum + 4 * len(table.columns)
    console = Console(width=max(width, needed))
    with console.capture() as text:  # rich itself would end the program at a closed pipe
        console.print(table)
    print(text.get(), end="")  # noqa: T201


def _cells(view: View, case: Case, accelerator: str) -> list[str]:
    energy = f"{view.account_of(accelerator)}_energy_j"
    best = cheapest_within_budget(view, case, accelerator)
    if best is None:
        return [escape(accelerator), "none runs within the budget"]
    cells = [escape(accelerator), escape(str(best["method"])), percent(best["rel_error"])]
    dense = dense_row(view, case, accelerator)
    for column, unit in ((energy, "J"), ("time_s", "s")):
        ratio = MISSING if dense is None else plain(dense[column] / best[column])
        cells += [si(best[column], unit), ratio]
    return cells
