"""Which bytes move: K, V, queries and outputs, workspace."""

from __future__ import annotations

import itertools

from santa_sim.report.bars import Bars, Stack, stacked_bars
from santa_sim.report.choices import case_menu, method_menu, shown_methods
from santa_sim.report.palette import STREAM_COLOURS
from santa_sim.report.printed import compared, percent, si
from santa_sim.report.section import Figure, Menu, Panel, Section
from santa_sim.report.selection import anchors, roles
from santa_sim.report.view import Case, View

STREAMS: dict[str, str] = {
    "k": "K", "v": "V", "q": "Q + output", "out": "Q + output", "stash": "workspace",
    "tile_mass": "workspace", "partial": "workspace", "index": "workspace",
}
"""Tensor -> the stream under which the figure shows it."""

COUNTED: dict[str, str] = {
    "moved_bytes": "moved (whole 32-byte sectors)",
    "unique_bytes": "unique (each row once per KV head)",
    "logical_bytes": "logical (each row as often as it is drawn)",
}


def byte_streams(view: View) -> Section:
    """Return the section on bytes."""
    return Section(
        name="bytes",
        question="Which bytes move, and which of them does sampling save?",
        answer=_answer(view),
        figure=_figure(view),
        how_to_read="Bytes of one decode step in one layer, all sequences and heads; shorter is "
        "better. Workspace stays in on-chip memory where it fits.",
    )


def _answer(view: View) -> tuple[str, ...]:
    case = anchors(view)[0]
    rows = view.rows(case).set_index("method")
    chosen = roles(view, case)
    said = []
    if chosen.dense:
        dense = rows.loc[chosen.dense]
        said.append(
            f"{case.label}: dense attention moves {si(dense['moved_bytes'], 'B')} per decode step "
            f"and layer, of which K is {percent(dense['k_bytes'] / dense['moved_bytes'])} and V "
            f"{percent(dense['v_bytes'] / dense['moved_bytes'])}."
        )
    for method in (chosen.sampled, chosen.joint):
        if method is None:
            continue
        row = rows.loc[method]
        text = (
            f"{method} reads {percent(row['unique_row_fraction'])} of the V rows and moves "
            f"{si(row['moved_bytes'], 'B')}"
        )
        if chosen.dense:
            ratio = row["moved_bytes"] / rows.loc[chosen.dense, "moved_bytes"]
            text += f", {compared(ratio, 'dense')}"
        text += f"; {percent(row['k_bytes'] / row['moved_bytes'])} of what is left is K."
        said.append(text)
    return tuple(said)


def _figure(view: View) -> Figure:
    counted = Menu("Bytes", tuple(COUNTED.values()))
    menus = (case_menu(view), counted, method_menu(view))
    panels = {
        (i, j, k): _panel(view, case, shown_methods(view, case, choice), column)
        for (i, case), (j, column), (k, choice) in itertools.product(
            enumerate(view.cases), enumerate(COUNTED), enumerate(menus[2].options)
        )
    }
    return Figure(menus, panels)


def _panel(view: View, case: Case, methods: list[str], column: str) -> Panel:
    rows = view.streams[view.streams["case"] == case.number]
    rows = rows.assign(stream=rows["tensor"].map(STREAMS).fillna("workspace"))
    sums = rows.groupby(["stream", "method"])[column].sum().to_dict()
    stacks = [
        Stack(name, [float(sums.get((name, m), 0.0)) for m in methods]) for name in STREAM_COLOURS
    ]
    return stacked_bars(Bars(methods, stacks, "B", "Bytes per decode step and layer",
                             STREAM_COLOURS))
