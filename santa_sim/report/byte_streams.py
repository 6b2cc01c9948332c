"""Which bytes move: K, V, queries and outputs, workspace."""

from __future__ import annotations

from typing import Any

from santa_sim.report.bars import Bars, Stack, stacked_bars
from santa_sim.report.choices import case_menu, method_choices
from santa_sim.report.palette import STREAM_COLOURS
from santa_sim.report.printed import compared, percent, si
from santa_sim.report.section import Figure, Menu, Panel, Said, Section
from santa_sim.report.selection import anchors, roles
from santa_sim.report.view import View

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
        how_to_read="All sequences and heads together; shorter is better. Workspace stays on the "
        "chip where it fits, and is not in the sentences, which count main memory.",
    )


def _answer(view: View) -> tuple[Said, ...]:
    case = anchors(view)[0]
    rows = view.rows(case)
    chosen = roles(view, case)
    dense = rows[chosen.dense] if chosen.dense else None
    said = []
    if dense:
        moved = dense["moved_bytes"]
        said.append(
            f"Dense attention moves {si(moved, 'B')} of main memory per decode step and layer, of "
            f"which K is {percent(dense['k_bytes'] / moved)} and V "
            f"{percent(dense['v_bytes'] / moved)}."
        )
    for method in (chosen.sampled, chosen.joint):
        if method is None:
            continue
        row = rows[method]
        moved = row["moved_bytes"]
        against = f", {compared(moved / dense['moved_bytes'], 'dense')}" if dense else ""
        said.append(
            f"{method} reads {percent(row['unique_row_fraction'])} of the V rows and moves "
            f"{si(moved, 'B')}{against}; {percent(row['k_bytes'] / moved)} of it is K."
        )
    return (Said(case.label, tuple(said)),)


def _figure(view: View) -> Figure:
    choices = method_choices(view)
    menus = (case_menu(view), Menu("Bytes", tuple(COUNTED.values())), choices.menu)
    panels = {}
    for i, case in enumerate(view.cases):
        rows = view.streams[view.streams["case"] == case.number]
        rows = rows.assign(stream=rows["tensor"].map(STREAMS).fillna("workspace"))
        sums = rows.groupby(["stream", "method"])[list(COUNTED)].sum().to_dict()
        for j, column in enumerate(COUNTED):
            for k, methods in enumerate(choices.methods[i]):
                panels[i, j, k] = _panel(sums[column], methods)
    return Figure(menus, panels)


def _panel(sums: dict[Any, float], methods: list[str]) -> Panel:
    stacks = [
        Stack(name, [float(sums.get((name, m), 0.0)) for m in methods]) for name in STREAM_COLOURS
    ]
    title = "Bytes per decode step and layer"
    return stacked_bars(Bars(methods, stacks, "B", title, STREAM_COLOURS))
