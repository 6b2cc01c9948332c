"""Where the energy goes, per account."""

from __future__ import annotations

import itertools

from santa_sim.report.bars import Bars, Stack, stacked_bars
from santa_sim.report.choices import accelerator_menu, case_menu, method_choices
from santa_sim.report.palette import PART_COLOURS
from santa_sim.report.printed import compared, percent, span
from santa_sim.report.section import Figure, Menu, Panel, Said, Section
from santa_sim.report.selection import anchors, dense_row, main_accelerator, roles
from santa_sim.report.tables import ACCOUNTS
from santa_sim.report.view import ZERO, Case, View

BOUNDARY: dict[str, str] = {
    "device": "device (memory device, SRAM and units alone)",
    "board": "board (everything that the board draws)",
}

SMALL = 0.005
"""Parts below this share of every bar are drawn as one."""
REST = f"parts below {100 * SMALL:g} %"
_ALWAYS = ("multiply", "add")


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


def _answer(view: View) -> tuple[Said, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    account = view.account_of(machine)
    energy = f"{account}_energy"
    rows = view.rows(case, machine)
    dense = dense_row(view, case, machine)
    said = []
    for role, method in roles(view, case).present().items():
        row = rows[method]
        if not row["fits"]:
            said.append(f"{method} does not run there.")
            continue
        total = row[f"{energy}_j"]
        text = f"{method} takes {span(total, row[f'{energy}_low_j'], row[f'{energy}_high_j'], 'J')}"
        if role != "dense" and dense is not None:
            text += f" ({compared(total / dense[f'{energy}_j'], 'dense')})"
        parts = {
            part: view.parts.get((case.number, machine, account, part, method), ZERO)[1]
            for part in part_names(view)
        }
        largest = sorted(parts, key=lambda part: -parts[part])[:3]
        shares = [f"{part} {percent(parts[part] / total)}" for part in largest]
        said.append(f"{text}: {', '.join(shares)}.")
    about = f"{case.label}, on {view.accelerators[machine]}, {account} account"
    return (Said(about, tuple(said)),)


def part_names(view: View) -> list[str]:
    """Return the parts of an energy, those with a colour of their own first."""
    return [*PART_COLOURS, *sorted(view.part_names - set(PART_COLOURS))]


def _figure(view: View) -> Figure:
    used = [a for a in ACCOUNTS if any(a in given for given in view.accounts.values())]
    boundary = Menu(
        "Account", tuple(BOUNDARY[a] for a in used),
        used.index(view.account_of(main_accelerator(view))) if used else 0,
    )
    choices = method_choices(view)
    menus = (case_menu(view), accelerator_menu(view), boundary, choices.menu)
    panels = {}
    for (i, case), (j, machine), (k, account) in itertools.product(
        enumerate(view.cases), enumerate(view.accelerators), enumerate(used)
    ):
        for m, methods in enumerate(choices.methods[i]):
            panels[i, j, k, m] = _panel(view, case, machine, account, methods)
    return Figure(menus, panels)


def _stack(name: str, ends: list[tuple[float, float, float]]) -> Stack:
    return Stack(name, [e[1] for e in ends], ([e[0] for e in ends], [e[2] for e in ends]))


def _panel(
    view: View, case: Case, machine: str, account: str, methods: list[str]
) -> Panel:
    if account not in view.accounts[machine]:
        title = view.accelerators[machine]
        if not view.accounts[machine]:
            return Panel([], {}, f"None of these methods runs on {title}.")
        return Panel([], {}, f"{title} has no {account} account; choose the other one.")
    here = view.rows(case, machine)
    crossed = frozenset(m for m, row in here.items() if not row["fits"])
    totals = [float(here[m][f"{account}_energy_j"]) for m in methods]
    stacks, rest = [], [ZERO] * len(methods)
    for part in part_names(view):
        found = [view.parts.get((case.number, machine, account, part, m), ZERO) for m in methods]
        large = any(ends[1] > SMALL * total for ends, total in zip(found, totals, strict=True))
        if large or part in _ALWAYS:
            stacks.append(_stack(part, found))
        else:
            rest = [(a[0] + b[0], a[1] + b[1], a[2] + b[2])
                    for a, b in zip(rest, found, strict=True)]
    stacks.append(_stack(REST, rest))
    low, high = (
        [float(here[m][f"{account}_energy_{end}_j"]) for m in methods]
        for end in ("low", "high")
    )
    lacking = [m for m in methods if m in crossed]
    note = f"{len(lacking)} of these methods do not run here." if lacking else ""
    return stacked_bars(Bars(
        methods, stacks, "J", "Energy per decode step and layer", PART_COLOURS | {REST: "#CCCCCC"},
        (low, high), crossed, note,
    ))
