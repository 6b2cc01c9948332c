"""Where the energy goes, per account."""

from __future__ import annotations

import itertools
from typing import Any

from santa_sim.report.bars import Bars, Stack, stacked_bars
from santa_sim.report.choices import accelerator_menu, case_menu, method_menu, shown_methods
from santa_sim.report.palette import PART_COLOURS
from santa_sim.report.printed import compared, percent, span
from santa_sim.report.section import Figure, Menu, Panel, Section
from santa_sim.report.selection import anchors, dense_row, main_accelerator, roles
from santa_sim.report.tables import ACCOUNTS
from santa_sim.report.view import Case, View

BOUNDARY: dict[str, str] = {
    "device": "device (memory device, SRAM and units alone)",
    "board": "board (everything that the board draws)",
}
Parts = dict[Any, dict[str, float]]


def energy_parts(view: View) -> Section:
    """Return the section on energy."""
    return Section(
        name="energy",
        question="Where does the energy go?",
        answer=_answer(view),
        figure=_figure(view),
        how_to_read="Joules by part; black: the range of the whole that the constants' low and "
        "high ends imply, all at their low or high end together. An account never mixes with "
        "another: the same read costs several times more at the board than at the memory device.",
    )


def _answer(view: View) -> tuple[str, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    account = view.account_of(machine)
    rows = view.rows(case, machine).set_index("method")
    said = []
    for role, method in roles(view, case).present().items():
        row = rows.loc[method]
        if not row["fits"]:
            said.append(f"{method} does not run there.")
            continue
        total = row[f"{account}_energy_j"]
        parts = view.energy[
            (view.energy["case"] == case.number) & (view.energy["accelerator"] == machine)
            & (view.energy["account"] == account) & (view.energy["method"] == method)
        ].sort_values("nominal_j", ascending=False, kind="stable")
        ends = (row[f"{account}_energy_low_j"], row[f"{account}_energy_high_j"])
        text = f"{method} takes {span(total, *ends, 'J')}"
        dense = dense_row(view, case, machine)
        if role != "dense" and dense is not None:
            ratio = total / dense[f"{account}_energy_j"]
            text += f" ({compared(ratio, 'dense')})"
        shares = [f"{p.part} {percent(p.nominal_j / total)}" for p in parts.head(3).itertuples()]
        said.append(f"{text}: {', '.join(shares)}.")
    if said:
        said[0] = f"{case.label}, on {view.accelerators[machine]}, {account} account: {said[0]}"
    return tuple(said)


def _figure(view: View) -> Figure:
    used = [a for a in ACCOUNTS if any(a in given for given in view.accounts.values())]
    boundary = Menu(
        "Account", tuple(BOUNDARY[a] for a in used),
        used.index(view.account_of(main_accelerator(view))) if used else 0,
    )
    menus = (case_menu(view), accelerator_menu(view), boundary, method_menu(view))
    keys = ["case", "accelerator", "account", "part", "method"]
    parts: Parts = view.energy.set_index(keys)[["low_j", "nominal_j", "high_j"]].to_dict("index")
    panels = {
        (i, j, k, m): _panel(view, parts, case, machine, account, shown_methods(view, case, choice))
        for (i, case), (j, machine), (k, account), (m, choice) in itertools.product(
            enumerate(view.cases), enumerate(view.accelerators), enumerate(used),
            enumerate(menus[3].options),
        )
    }
    return Figure(menus, panels)


def _panel(
    view: View, parts: Parts, case: Case, machine: str, account: str, methods: list[str]
) -> Panel:
    if account not in view.accounts[machine]:
        title = view.accelerators[machine]
        if not view.accounts[machine]:
            return Panel([], {}, f"None of these methods runs on {title}.")
        return Panel([], {}, f"{title} has no {account} account; choose the other one.")
    here = view.rows(case, machine).set_index("method")
    crossed = frozenset(here.index[~here["fits"]])
    zero = {"low_j": 0.0, "nominal_j": 0.0, "high_j": 0.0}
    stacks = []
    names = [*PART_COLOURS, *sorted(set(view.energy["part"]) - set(PART_COLOURS))]
    for part in names:
        found = [parts.get((case.number, machine, account, part, m), zero) for m in methods]
        stacks.append(Stack(
            part, [f["nominal_j"] for f in found],
            ([f["low_j"] for f in found], [f["high_j"] for f in found]),
        ))
    low, high = (
        [float(here[f"{account}_energy_{end}_j"].get(m, float("nan"))) for m in methods]
        for end in ("low", "high")
    )
    lacking = [m for m in methods if m in crossed]
    note = f"{len(lacking)} of these methods do not run here." if lacking else ""
    return stacked_bars(Bars(
        methods, stacks, "J", "Energy per decode step and layer", PART_COLOURS, (low, high),
        crossed, note,
    ))
