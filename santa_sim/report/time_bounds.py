"""How long a step takes at least: the roofline, with perfect and without overlap."""

from __future__ import annotations

import itertools

from santa_sim.report.choices import accelerator_menu, case_menu, method_choices
from santa_sim.report.layout import GREY, axis, axis_unit, method_rows, numbers
from santa_sim.report.palette import OTHER_COLOURS, STREAM_COLOURS, label
from santa_sim.report.printed import compared, si, span
from santa_sim.report.section import Figure, Panel, Said, Section, Trace
from santa_sim.report.selection import anchors, dense_row, main_accelerator, roles
from santa_sim.report.view import Case, Row, View

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


def _figure(view: View) -> Figure:
    choices = method_choices(view)
    bounds = sorted({b for b in view.means["bound"] if b} - {MEMORY})
    colours = {
        MEMORY: STREAM_COLOURS["K"],
        **dict(zip(bounds, itertools.cycle(OTHER_COLOURS), strict=False)),
    }
    panels = {}
    for (i, case), (j, machine) in itertools.product(
        enumerate(view.cases), enumerate(view.accelerators)
    ):
        for k, methods in enumerate(choices.methods[i]):
            panels[i, j, k] = _panel(view, case, machine, methods, colours)
    return Figure((case_menu(view), accelerator_menu(view), choices.menu), panels)


def _panel(
    view: View, case: Case, machine: str, methods: list[str], colours: dict[str, str]
) -> Panel:
    here = view.rows(case, machine)
    rows = [here[m] for m in methods]
    if not any(row["fits"] for row in rows):
        return Panel([], {}, f"None of these methods runs on {view.accelerators[machine]}.")
    longest = [row[c] for row in rows for c in ("time_no_overlap_s", "time_high_s")]
    scale, unit = axis_unit(longest, "s")
    layout = method_rows(methods)
    layout |= {
        "bargap": 0.3, "barmode": "overlay",
        "xaxis": axis(f"Time per decode step and layer ({unit})", rangemode="tozero"),
        "annotations": [
            {"x": 0, "y": i, "xanchor": "left", "xshift": 4, "showarrow": False,
             "text": "does not run here", "font": {"size": 12, "color": GREY}}
            for i, row in enumerate(rows) if not row["fits"]
        ],
    }
    data = [
        _bars(rows, bound, colour, scale, unit)
        for bound, colour in colours.items() if any(row["bound"] == bound for row in rows)
    ]
    data.append({
        "type": "scatter", "mode": "markers", "name": "without overlap",
        "x": numbers([row["time_no_overlap_s"] for row in rows], scale),
        "y": list(range(len(rows))),
        "marker": {"symbol": "diamond", "size": 9, "color": "#ffffff",
                   "line": {"color": "#222222", "width": 1.5}},
        "hovertemplate": f"%{{y}}<br>without overlap: %{{x:.4~g}} {unit}<extra></extra>",
    })
    return Panel(data, layout)


def _bars(rows: list[Row], bound: str, colour: str, scale: float, unit: str) -> Trace:
    held = [(i, row) for i, row in enumerate(rows) if row["bound"] == bound]
    time, low, high = (
        [row[c] for _, row in held] for c in ("time_s", "time_low_s", "time_high_s")
    )
    return {
        "type": "bar", "orientation": "h", "name": label(f"held up by {bound}"),
        "x": numbers(time, scale), "y": [i for i, _ in held],
        "marker": {"color": colour},
        "hovertemplate": f"%{{y}}<br>at least %{{x:.4~g}} {unit}<extra></extra>",
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 1.4, "width": 4, "color": "#222222",
            "array": numbers([h - t for t, h in zip(time, high, strict=True)], scale),
            "arrayminus": numbers([t - lo for t, lo in zip(time, low, strict=True)], scale),
        },
    }
