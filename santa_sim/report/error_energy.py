"""What accuracy costs: output error against energy, and the Pareto front."""

from __future__ import annotations

import itertools
import math
from typing import Any

from santa_sim.report.choices import accelerator_menu, case_menu
from santa_sim.report.error_sentences import error_answer
from santa_sim.report.layout import GREY, axis, axis_unit, base, numbers
from santa_sim.report.palette import (
    FALLBACK,
    FAMILY_COLOURS,
    FAMILY_NAMES,
    FAMILY_SYMBOLS,
    label,
)
from santa_sim.report.printed import percent, span
from santa_sim.report.section import Figure, Menu, Panel, Section, Trace
from santa_sim.report.selection import (
    dense_row,
    is_dense,
    main_accelerator,
    reference_accelerator,
)
from santa_sim.report.tables import ACCOUNTS
from santa_sim.report.view import ERROR_BUDGET, Case, Row, View

EXACT = 1e-5
"""Relative error up to which a method counts as exact: rounding alone."""
UNUSABLE = 1.0
_HOW_TO_READ = (
    "Each point is a method; lower left is better. Points of one kind are joined, more samples to "
    "the right; vertical bars: 95 % interval over seeds. The dotted line is the Pareto front of "
    "the usable ones: nothing has both less error and less energy."
)


def error_energy(view: View) -> Section:
    """Return the section on error and energy."""
    known = view.points["rel_error"].notna().any()
    return Section(
        name="error",
        question="What does accuracy cost?",
        answer=error_answer(view),
        figure=_figure(view) if known else None,
        how_to_read=_HOW_TO_READ if known else "",
    )


def pareto_front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points (energy, error) that no other beats in both, by ascending energy."""
    front: list[tuple[float, float]] = []
    for energy, error in sorted(points):
        if not front or error < front[-1][1]:
            front.append((energy, error))
    return front


def _figure(view: View) -> Figure:
    used = [a for a in ACCOUNTS if any(a in given for given in view.accounts.values())]
    start = used.index(view.account_of(main_accelerator(view))) if used else 0
    menus = (case_menu(view), accelerator_menu(view), Menu("Account", tuple(used), start))
    panels = {
        (i, j, k): _panel(view, case, machine, account)
        for (i, case), (j, machine), (k, account) in itertools.product(
            enumerate(view.cases), enumerate(view.accelerators), enumerate(used)
        )
    }
    return Figure(menus, panels)


def _panel(view: View, case: Case, machine: str, account: str) -> Panel:
    title = view.accelerators[machine]
    energy = f"{account}_energy_j"
    rows = list(view.rows(case, machine).values())
    known = [r for r in rows if math.isfinite(r[energy]) and math.isfinite(r["rel_error"])]
    shown = [r for r in known if r["rel_error"] > EXACT]
    if not shown:
        return Panel([], {}, f"Nothing with an error runs on {title} in the {account} account.")
    reference = reference_accelerator(view, case, machine)
    dense = dense_row(view, case, machine)
    spent = [float(r[energy]) for r in shown]
    if dense is not None and math.isfinite(dense[energy]):
        spent.append(float(dense[energy]))
    scale, unit = axis_unit(spent, "J")
    errors = [100 * float(r["rel_error"]) for r in shown]
    bottom, top = min(*errors, 5.0) / 1.6, max(*errors, 150.0) * 2
    left, right = min(spent) / scale / 1.25, max(spent) / scale * 1.25
    layout = base(480)
    layout["xaxis"] = _log_axis(f"Energy per decode step and layer, {account} account ({unit})",
                                left, right)
    layout["yaxis"] = _log_axis("Relative output error (%)", bottom, top)
    layout["shapes"], layout["annotations"] = _marks(top)
    data = _front(shown, energy, scale) + _families(shown, energy, scale)
    notes = []
    if dense is not None and reference is not None and math.isfinite(dense[energy]):
        where = "dense" if reference == machine else "dense (twin)"
        _mark_dense(layout, float(dense[energy]) / scale, where)
        if reference != machine:
            notes.append(f"Dense attention does not run here; the line marks it on "
                         f"{view.accelerators[reference]}.")
    lacking = sum(not r["fits"] for r in rows)
    if lacking:
        notes.append(f"{lacking} of {len(rows)} methods do not run on {title}.")
    exact = [r["method"] for r in known if r["rel_error"] <= EXACT and not is_dense(r)]
    if exact:
        notes.append(f"Exact, and not drawn: {', '.join(exact)}.")
    return Panel(data, layout, " ".join(notes))


def _log_axis(title: str, low: float, high: float) -> dict[str, Any]:
    decades = math.log10(high / low)
    return axis(
        title, type="log", range=[math.log10(low), math.log10(high)],
        dtick="D1" if decades < 0.8 else "D2" if decades < 2.5 else 1, tickformat="~g",
    )


def _marks(top: float) -> tuple[list[Any], list[Any]]:
    budget = 100 * ERROR_BUDGET
    shapes = [
        {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": 100 * UNUSABLE, "y1": top,
         "fillcolor": "#f3e3e3", "line": {"width": 0}, "layer": "below"},
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": budget, "y1": budget,
         "line": {"color": GREY, "dash": "dash", "width": 1}, "layer": "below"},
    ]
    text = {"xref": "paper", "x": 0, "xanchor": "left", "showarrow": False,
            "font": {"size": 12, "color": GREY}}
    annotations = [
        {**text, "y": math.log10(top), "yanchor": "top", "text": "unusable: worse than zeros"},
        {**text, "y": math.log10(budget), "yanchor": "bottom", "text": f"budget {budget:g} %"},
    ]
    return shapes, annotations


def _mark_dense(layout: dict[str, Any], x: float, text: str) -> None:
    layout["shapes"].append({
        "type": "line", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "layer": "below",
        "line": {"color": FAMILY_COLOURS["dense"], "dash": "dot", "width": 1.5},
    })
    layout["annotations"].append({
        "x": math.log10(x), "xanchor": "right", "yref": "paper", "y": 0, "yanchor": "bottom",
        "text": text, "textangle": -90, "showarrow": False,
        "font": {"size": 12, "color": FAMILY_COLOURS["dense"]},
    })


def _front(rows: list[Row], energy: str, scale: float) -> list[Trace]:
    front = pareto_front([
        (r[energy], r["rel_error"]) for r in rows if r["rel_error"] <= UNUSABLE
    ])
    if len(front) < 2:
        return []
    return [{
        "type": "scatter", "mode": "lines", "name": "Pareto front", "hoverinfo": "skip",
        "x": numbers([x for x, _ in front], scale), "y": numbers([100 * y for _, y in front]),
        "line": {"color": "#222222", "width": 1.5, "dash": "dot", "shape": "hv"},
    }]


def _families(rows: list[Row], energy: str, scale: float) -> list[Trace]:
    """Return one line per kind: family, and for ternary queries also trials and value stage."""
    kinds: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        trials = f"R={row['trials']:.0f}" if math.isfinite(row["trials"]) else ""
        kinds.setdefault((row["family"], row["value_stage"], trials), []).append(row)
    traces: list[Trace] = []
    named: set[str] = set()
    for (name, stage, trials), points in kinds.items():
        points.sort(key=lambda row: float(row[energy]))
        error, low, high = (
            [100 * row[c] for row in points]
            for c in ("rel_error", "rel_error_low", "rel_error_high")
        )
        colour = FAMILY_COLOURS.get(name, FALLBACK)
        shape = stage if trials and stage != "dense" else name
        entry = label(_entry(name, stage, bool(trials)))
        traces.append({
            "type": "scatter", "mode": "lines+markers+text" if trials else "lines+markers",
            "name": entry, "legendgroup": entry, "showlegend": entry not in named,
            "x": numbers([row[energy] for row in points], scale), "y": numbers(error),
            "text": [""] * (len(points) - 1) + [trials], "textposition": "bottom right",
            "textfont": {"size": 11, "color": colour},
            "line": {"color": colour, "width": 1.5},
            "marker": {"color": colour, "size": 10, "symbol": FAMILY_SYMBOLS.get(shape, "circle"),
                       "line": {"color": "#ffffff", "width": 1}},
            "hoverinfo": "text", "hovertext": [_hover(row, energy) for row in points],
            "error_y": {
                "type": "data", "symmetric": False, "thickness": 1.2, "width": 3, "color": colour,
                "array": numbers([h - e for e, h in zip(error, high, strict=True)]),
                # a bar that reaches zero has no end on a log axis
                "arrayminus": numbers([
                    min(e - lo, 0.99 * e) for e, lo in zip(error, low, strict=True)
                ]),
            },
        })
        named.add(entry)
    return traces


def _entry(name: str, stage: str, ternary: bool) -> str:
    """Return what the legend calls a kind of methods."""
    if not ternary:
        return FAMILY_NAMES.get(name, name)
    return f"ternary queries + {'dense values' if stage == 'dense' else stage}"


def _hover(row: Row, energy: str) -> str:
    low, high = (row[energy.removesuffix("_j") + f"_{end}_j"] for end in ("low", "high"))
    lines = [
        f"<b>{label(str(row['method']))}</b>",
        f"error {percent(row['rel_error'])} "
        f"[{percent(row['rel_error_low'])}, {percent(row['rel_error_high'])}]",
        f"energy {span(row[energy], low, high, 'J')}",
    ]
    if math.isfinite(row["samples_requested"]):
        lines.append(f"{row['samples_effective']:,.4g} rows drawn per query head, "
                     f"{row['samples_requested']:,.0f} asked for")
    return "<br>".join(lines)
