"""How long a step takes at least: the roofline, with perfect and without overlap."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from santa_sim.report.choices import accelerator_menu, case_menu, method_menu, shown_methods
from santa_sim.report.layout import GREY, axis, axis_unit, method_rows, numbers
from santa_sim.report.palette import OTHER_COLOURS, STREAM_COLOURS, label
from santa_sim.report.printed import compared, si, span
from santa_sim.report.section import Figure, Panel, Section, Trace
from santa_sim.report.selection import anchors, dense_row, main_accelerator, roles
from santa_sim.report.view import Case, View

if TYPE_CHECKING:
    import pandas as pd

MEMORY = "memory"


def time_bounds(view: View) -> Section:
    """Return the section on time."""
    return Section(
        name="time",
        question="How long does a step take at least, and what holds it up?",
        answer=_answer(view),
        figure=_figure(view),
        how_to_read="Bar: every resource works at once, and the slowest decides (its colour); its "
        "line is the range from the constants. Diamond: one resource after the other. A real "
        "machine lies between, and pays latencies and launches on top.",
    )


def _answer(view: View) -> tuple[str, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    rows = view.rows(case, machine).set_index("method")
    dense = dense_row(view, case, machine)
    said = []
    for role, method in roles(view, case).present().items():
        row = rows.loc[method]
        if not row["fits"]:
            said.append(f"{method} does not run there.")
            continue
        least = span(row["time_s"], row["time_low_s"], row["time_high_s"], "s")
        text = f"{method} takes at least {least}"
        if role != "dense" and dense is not None:
            ratio = row["time_s"] / dense["time_s"]
            text += f" ({compared(ratio, 'dense')})"
        text += f", held up by {row['bound']}"
        said.append(f"{text}; without any overlap {si(row['time_no_overlap_s'], 's')}.")
    if said:
        said[0] = f"{case.label}, on {view.accelerators[machine]}: {said[0]}"
    return tuple(said)


def _figure(view: View) -> Figure:
    menus = (case_menu(view), accelerator_menu(view), method_menu(view))
    bounds = sorted({b for b in view.means["bound"] if b} - {MEMORY})
    colours = {MEMORY: STREAM_COLOURS["K"], **dict(zip(bounds, itertools.cycle(OTHER_COLOURS),
                                                        strict=False))}
    panels = {
        (i, j, k): _panel(view, case, machine, shown_methods(view, case, choice), colours)
        for (i, case), (j, machine), (k, choice) in itertools.product(
            enumerate(view.cases), enumerate(view.accelerators), enumerate(menus[2].options)
        )
    }
    return Figure(menus, panels)


def _panel(
    view: View, case: Case, machine: str, methods: list[str], colours: dict[str, str]
) -> Panel:
    rows = view.rows(case, machine).set_index("method").loc[methods].reset_index()
    if not rows["fits"].any():
        return Panel([], {}, f"None of these methods runs on {view.accelerators[machine]}.")
    scale, unit = axis_unit([*rows["time_no_overlap_s"], *rows["time_high_s"]], "s")
    layout = method_rows(methods)
    layout |= {
        "bargap": 0.3, "barmode": "overlay",
        "xaxis": axis(f"Time per decode step and layer ({unit})", rangemode="tozero"),
        "annotations": [
            {"x": 0, "y": i, "xanchor": "left", "xshift": 4, "showarrow": False,
             "text": "does not run here", "font": {"size": 12, "color": GREY}}
            for i, fits in enumerate(rows["fits"]) if not fits
        ],
    }
    data = [
        _bars(rows[rows["bound"] == bound], bound, colour, scale, unit)
        for bound, colour in colours.items() if (rows["bound"] == bound).any()
    ]
    data.append({
        "type": "scatter", "mode": "markers", "name": "without overlap",
        "x": numbers(rows["time_no_overlap_s"], scale), "y": list(range(len(rows))),
        "marker": {"symbol": "diamond", "size": 9, "color": "#ffffff",
                   "line": {"color": "#222222", "width": 1.5}},
        "hovertemplate": f"%{{y}}<br>without overlap: %{{x:.4~g}} {unit}<extra></extra>",
    })
    return Panel(data, layout)


def _bars(rows: pd.DataFrame, bound: str, colour: str, scale: float, unit: str) -> Trace:
    return {
        "type": "bar", "orientation": "h", "name": label(f"held up by {bound}"),
        "x": numbers(rows["time_s"], scale), "y": [int(i) for i in rows.index],
        "marker": {"color": colour},
        "hovertemplate": f"%{{y}}<br>at least %{{x:.4~g}} {unit}<extra></extra>",
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 1.4, "width": 4, "color": "#222222",
            "array": numbers(rows["time_high_s"] - rows["time_s"], scale),
            "arrayminus": numbers(rows["time_s"] - rows["time_low_s"], scale),
        },
    }
