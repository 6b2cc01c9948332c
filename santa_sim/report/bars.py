"""Horizontal stacked bars, one row per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from santa_sim.report.layout import GREY, axis, axis_unit, method_rows, numbers
from santa_sim.report.palette import FALLBACK, label
from santa_sim.report.section import Panel, Trace

Ends = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Stack:
    """One layer of the bars: a value per method, in the figure's unit; low and high if known."""

    name: str
    values: Sequence[float]
    ends: Ends | None = None


@dataclass(frozen=True)
class Bars:
    """What stacked bars show.

    methods: rows. stacks: layers, left to right. unit: of the values ("" for counts).
    title: axis title, without unit. total_ends: low and high of whole bars, for error bars.
    crossed: methods that do not run; their bars are hatched, or named where there is none.
    """

    methods: list[str]
    stacks: list[Stack]
    unit: str
    title: str
    colours: Mapping[str, str]
    total_ends: Ends | None = None
    crossed: frozenset[str] = frozenset()
    note: str = ""


def stacked_bars(bars: Bars) -> Panel:
    """Return the figure."""
    totals = [sum(s.values[i] for s in bars.stacks) for i in range(len(bars.methods))]
    highs = list(bars.total_ends[1]) if bars.total_ends else []
    scale, unit = axis_unit([*totals, *highs], bars.unit)
    layout = method_rows(bars.methods)
    shown = f"{bars.title} ({unit})" if unit else bars.title
    layout |= {
        "barmode": "stack", "bargap": 0.3,
        "xaxis": axis(shown, rangemode="tozero"),
    }
    data = [_layer(s, bars, scale, unit) for s in bars.stacks if any(v > 0 for v in s.values)]
    if bars.total_ends:
        data.append(_interval(totals, bars.total_ends, scale))
    layout["annotations"] = [
        {"x": 0, "y": i, "xanchor": "left", "xshift": 4, "showarrow": False,
         "text": "does not run here" if m in bars.crossed else "0",
         "font": {"size": 12, "color": GREY}}
        for i, m in enumerate(bars.methods) if not totals[i] > 0
    ]
    if not any(t > 0 for t in totals):
        layout["xaxis"]["range"] = [0, 1]
    return Panel(data, layout, bars.note)


def _layer(stack: Stack, bars: Bars, scale: float, unit: str) -> Trace:
    trace: dict[str, Any] = {
        "type": "bar", "orientation": "h", "name": label(stack.name),
        "x": numbers(stack.values, scale),
        "marker": {"color": bars.colours.get(stack.name, FALLBACK)},
        "hovertemplate": f"%{{y}}<br>{label(stack.name)}: %{{x:.4~g}} {unit}<extra></extra>",
    }
    hatched = [
        m in bars.crossed and v > 0 for m, v in zip(bars.methods, stack.values, strict=True)
    ]
    if any(hatched):
        trace["marker"]["pattern"] = {
            "shape": ["/" if h else "" for h in hatched], "fillmode": "overlay",
            "fgcolor": "#ffffff", "size": 6,
        }
    if stack.ends:
        low, high = (numbers(end, scale) for end in stack.ends)
        trace["customdata"] = list(zip(low, high, strict=True))
        trace["hovertemplate"] = (
            f"%{{y}}<br>{label(stack.name)}: %{{x:.4~g}} "
            f"[%{{customdata[0]:.4~g}}, %{{customdata[1]:.4~g}}] {unit}<extra></extra>"
        )
    return trace


def _interval(totals: list[float], ends: Ends, scale: float) -> Trace:
    low, high = ends
    return {
        "type": "scatter", "mode": "markers", "name": "range from the constants",
        "x": numbers([t if t > 0 else float("nan") for t in totals], scale),
        "y": list(range(len(totals))),
        "marker": {"color": "#222222", "size": 4, "symbol": "line-ns-open"},
        "hoverinfo": "skip",
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 1.4, "width": 4, "color": "#222222",
            "array": numbers([h - t for h, t in zip(high, totals, strict=True)], scale),
            "arrayminus": numbers([t - lo for lo, t in zip(low, totals, strict=True)], scale),
        },
    }
