"""The section on break-even: sentences, figure, and what each memory makes of it."""

from __future__ import annotations

import math
from typing import Any

from santa_sim.report.break_even import (
    BreakEven,
    Range,
    break_even,
    machines_with_multiplier,
)
from santa_sim.report.choices import case_menu
from santa_sim.report.layout import GREY, axis, axis_unit, base, numbers
from santa_sim.report.machines import BitPrice, bit_prices
from santa_sim.report.palette import PART_COLOURS, label
from santa_sim.report.printed import plain, si, span, times
from santa_sim.report.section import Figure, Menu, Panel, Said, Section, Table, Trace
from santa_sim.report.selection import anchors
from santa_sim.report.view import View

_CLOSE = 1.27
"""Prices closer than this ratio share a label in the figure."""
_PLOT_PX = 340
"""Height of the figure without legend and axis title."""


def break_even_section(view: View) -> Section:
    """Return the section on break-even."""
    question = (
        "Below which memory energy per bit do multipliers matter more than bytes?"
    )
    machines = machines_with_multiplier(view)
    if not machines:
        return Section("break-even", question, (Said("", (
            "No accelerator of this study has a multiplier whose energy is known, so there is "
            "none to remove.",
        )),))
    said: list[Said] = []
    tables: list[Table] = []
    for case in anchors(view):
        found = break_even(view, case, machines[0])
        if isinstance(found, str):
            said.append(Said(case.label, (found,)))
            continue
        about = f"{case.label}, on {view.accelerators[found.machine]}, {found.account} account"
        said.append(Said(about, tuple(break_even_sentences(view, found))))
        if not tables:
            tables.append(_by_memory(view, found))
    menus = (
        case_menu(view),
        Menu("Accelerator", tuple(view.accelerators[m] for m in machines)),
    )
    panels = {
        (i, j): _panel(
            view, break_even(view, case, machine), told=j == 0 and case in anchors(view)
        )
        for i, case in enumerate(view.cases) for j, machine in enumerate(machines)
    }
    if not any(panel.data for panel in panels.values()):
        return Section("break-even", question, tuple(said), tables=tuple(tables))
    return Section(
        "break-even", question, tuple(said), Figure(menus, panels),
        "Where the rising line (bytes saved × 8 × pJ/bit) crosses a level line, both savings are "
        "equal; left of it multipliers matter more, right of it bytes do. Bands: range from the "
        "constants. Vertical lines: read energy of the memories in this study.",
        tables=tuple(tables),
    )


def break_even_sentences(view: View, found: BreakEven) -> list[str]:
    """Return what a break-even says in words."""
    most = found.multiplies_j
    said = [
        f"All multiplies of dense attention together take "
        f"{span(most.nominal, most.low, most.high, 'J')}, the most that removing them can save; "
        f"{found.sampled} saves {si(found.bytes_saved, 'B')} instead."
    ]
    crossing = found.crossing_pj_per_bit()
    if found.bytes_saved <= 0:
        said.append(
            f"{found.sampled} moves no fewer bytes than dense, so there is no break-even: at every "
            "memory energy multipliers matter more."
        )
    elif crossing is None:
        said.append(
            "Multiplies cost nothing here, so there is no break-even: at every memory energy bytes "
            "matter more."
        )
    else:
        said.append(
            f"The two are equal at {_pj(crossing)}: only below it do multipliers matter more than "
            "bytes."
        )
    if found.arithmetic_j is not None and found.twin is not None:
        said.append(_net_sentence(view, found, found.arithmetic_j))
    return said


def _net_sentence(view: View, found: BreakEven, net: Range) -> str:
    start = f"Replacing them, with {found.joint} on {view.accelerators[str(found.twin)]}, "
    crossing = found.net_crossing_pj_per_bit()
    if net.low <= 0 <= net.high:
        return (
            f"{start}changes the arithmetic by {span(-net.nominal, -net.high, -net.low, 'J')}: no "
            "difference within the range of the constants, so no break-even can be told."
        )
    if net.nominal < 0:
        return (
            f"{start}costs {span(-net.nominal, -net.high, -net.low, 'J')} more arithmetic than it "
            "saves: then there is no break-even, and bytes matter more at every memory energy."
        )
    text = f"{start}leaves {span(net.nominal, net.low, net.high, 'J')} of that saving"
    return f"{text}, and a break-even at {_pj(crossing)}." if crossing else f"{text}."


def _pj(value: Range) -> str:
    return f"{plain(value.nominal)} [{plain(value.low)}, {plain(value.high)}] pJ/bit"


def _by_memory(view: View, found: BreakEven) -> Table:
    rows = []
    for price in bit_prices(view, found.account):
        saved = found.bytes_j(price.nominal)
        most = found.multiplies_j.nominal
        ratio = saved / most if most > 0 else math.inf
        rows.append((
            price.name, f"{price.nominal:g} [{price.low:g}, {price.high:g}] pJ/bit", si(saved, "J"),
            si(most, "J"),
            "multipliers" if ratio < 1 else
            "bytes" if math.isinf(ratio) else f"bytes, {times(ratio)} as much",
        ))
    return Table(
        (f"Memory ({found.account} account)", "Read energy", "Saved by removing bytes",
         "Saved by removing multiplies, at most", "What matters more"),
        tuple(rows), frozenset({1, 2, 3}),
    )


def _panel(view: View, found: BreakEven | str, told: bool) -> Panel:
    """Return the figure of one case; `told`: its sentences stand above the figure already."""
    if isinstance(found, str):
        return Panel([], {}, found)
    note = "" if told else " ".join(break_even_sentences(view, found))
    prices = bit_prices(view, found.account)
    crossings = [c for c in (found.crossing_pj_per_bit(), found.net_crossing_pj_per_bit()) if c]
    marks = [p.nominal for p in prices if p.nominal > 0] + [c.nominal for c in crossings]
    if found.bytes_saved <= 0 or not marks:
        return Panel([], {}, " ".join(break_even_sentences(view, found)))
    left, right = min(marks) / 3, max(*marks, 10.0) * 2
    saved = [found.bytes_j(left), found.bytes_j(right)]
    levels = [found.multiplies_j, *([found.arithmetic_j] if found.arithmetic_j else [])]
    scale, unit = axis_unit([saved[1], *(r.nominal for r in levels)], "J")
    data: list[Trace] = [{
        "type": "scatter", "mode": "lines", "name": label("removing bytes"),
        "x": numbers([left, right]), "y": numbers(saved, scale),
        "line": {"color": PART_COLOURS["main memory read"], "width": 3},
        "hovertemplate": f"%{{x:.3~g}} pJ/bit: %{{y:.3~g}} {unit}<extra>removing bytes</extra>",
    }]
    names = ("removing multiplies, at most", "removing multiplies, replacement paid")
    colours = (PART_COLOURS["multiply"], PART_COLOURS["random bits"])
    for level, name, colour in zip(levels, names, colours, strict=False):
        if level.nominal > 0:
            data += _level(level, name, colour, (left, right), scale, unit)
    layout = base(460)
    tops = [saved[1], *(r.high for r in levels)]
    bottoms = [saved[0], *(r.low for r in levels if r.low > 0)]
    layout["xaxis"] = axis(
        "Read energy of memory (pJ/bit)", type="log", dtick=1, tickformat="~g",
        range=[math.log10(left), math.log10(right)],
    )
    layout["shapes"], layout["annotations"] = _memories(prices)
    # the names of the memories stand above the lines
    name_px = 7 * max((len(a["text"]) for a in layout["annotations"]), default=0)
    above = min(0.6, name_px / _PLOT_PX)
    low, high = math.log10(min(bottoms) / scale / 1.5), math.log10(1.3 * max(tops) / scale)
    layout["yaxis"] = axis(
        f"Energy saved per decode step and layer ({unit})", type="log", dtick=1, tickformat="~g",
        range=[low, low + (high - low) / (1 - above)],
    )
    for c in crossings:
        data.append({
            "type": "scatter", "mode": "markers", "showlegend": False, "name": "break-even",
            "x": numbers([c.nominal]), "y": numbers([found.bytes_j(c.nominal)], scale),
            "marker": {"size": 11, "color": "#222222", "symbol": "circle-open",
                       "line": {"width": 2}},
            "hovertemplate": f"break-even at {_pj(c)}<extra></extra>",
            "error_x": {"type": "data", "symmetric": False, "color": "#222222", "thickness": 1.2,
                        "array": numbers([c.high - c.nominal]),
                        "arrayminus": numbers([c.nominal - max(c.low, c.nominal / 100)])},
        })
    return Panel(data, layout, note)


def _level(
    level: Range, name: str, colour: str, ends: tuple[float, float], scale: float, unit: str
) -> list[Trace]:
    x = numbers(ends)
    low = max(level.low, level.nominal / 1000)
    band = {"type": "scatter", "mode": "lines", "x": x, "line": {"width": 0}, "hoverinfo": "skip",
            "showlegend": False}
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return [
        {**band, "y": numbers([low, low], scale)},
        {**band, "y": numbers([level.high] * 2, scale), "fill": "tonexty",
         "fillcolor": f"rgba({red},{green},{blue},0.15)"},
        {"type": "scatter", "mode": "lines", "name": label(name), "x": x,
         "y": numbers([level.nominal] * 2, scale), "line": {"color": colour, "width": 2.5},
         "hovertemplate": f"%{{y:.3~g}} {unit}<extra>{label(name)}</extra>"},
    ]


def _memories(prices: list[BitPrice]) -> tuple[list[Any], list[Any]]:
    groups: list[list[BitPrice]] = []
    for price in (p for p in prices if p.nominal > 0):
        if groups and price.nominal < _CLOSE * groups[-1][0].nominal:
            groups[-1].append(price)
        else:
            groups.append([price])
    shapes = [
        {"type": "line", "yref": "paper", "x0": p.nominal, "x1": p.nominal, "y0": 0, "y1": 1,
         "line": {"color": GREY, "dash": "dot", "width": 1}, "layer": "below"}
        for group in groups for p in group
    ]
    annotations = [
        {"x": math.log10(group[-1].nominal), "xanchor": "left", "yref": "paper", "y": 1,
         "yanchor": "top", "textangle": -90, "showarrow": False,
         "text": ", ".join(f"{label(p.name)} {p.nominal:g}" for p in group),
         "font": {"size": 12, "color": GREY}}
        for group in groups
    ]
    return shapes, annotations
