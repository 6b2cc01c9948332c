"""How long a step takes at least: the roofline, with perfect and without overlap."""

from __future__ import annotations

from santa_sim.report.printed import compared, si, span
from santa_sim.report.section import Figure, Said, Section
from santa_sim.report.selection import anchors, dense_row, main_accelerator, roles
from santa_sim.report.view import View


def time_bounds(view: View) -> Section:
    """Return the section on time."""
    return Section(
        name="time",
        title="Time",
        question="How long does a step take at least, and what holds it up?",
        answer=_answer(view),
        figures=(Figure("time"), Figure("roofline", "Roofline")),
        how_to_read="Bar: every resource works at once, and the slowest decides (its colour); its "
        "line is the range from the constants. Diamond: one resource after the other. A real "
        "machine lies between, and pays latencies and launches on top. Roofline: operations of the "
        "busiest unit over bytes moved and over time; sloped, the memory at its streaming "
        "efficiency; level, the rates of the units. A point on a roof is held up by it.",
    )


def _answer(view: View) -> tuple[Said, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    rows = view.rows(case, machine)
    dense = dense_row(view, case, machine)
    said = []
    for role, method in roles(view, case).present().items():
        row = rows[method]
        if not row["fits"]:
            said.append(f"{method} does not run there.")
            continue
        least = span(row["time_s"], row["time_low_s"], row["time_high_s"], "s")
        text = f"{method} takes at least {least}"
        if role != "dense" and dense is not None:
            text += f" ({compared(row['time_s'] / dense['time_s'], 'dense')})"
        said.append(
            f"{text}, held up by {row['bound']}; without any overlap "
            f"{si(row['time_no_overlap_s'], 's')}."
        )
    return (Said(f"{case.label}, on {view.accelerators[machine]}", tuple(said)),)
