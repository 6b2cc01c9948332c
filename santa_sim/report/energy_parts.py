"""Where the energy goes, per account."""

from __future__ import annotations

from santa_sim.report.printed import compared, percent, span
from santa_sim.report.section import Figure, Said, Section
from santa_sim.report.selection import anchors, dense_row, main_accelerator, roles
from santa_sim.report.view import ZERO, View


def energy_parts(view: View) -> Section:
    """Return the section on energy."""
    return Section(
        name="energy",
        title="Energy",
        question="Where does the energy go?",
        answer=_answer(view),
        figures=(Figure("energy"), Figure("tornado", "Which constants matter most")),
        how_to_read="Joules by part; black: the range of the whole that the constants' low and "
        "high ends imply, all at their low or high end together. An account never mixes with "
        "another: the same read costs several times more at the board than at the memory device. "
        "Below: the energy of one point with one constant at its low or high end, all others as "
        "they are; of the picked point, or of the cheapest within the error budget.",
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
            for part in sorted(view.part_names)
        }
        largest = sorted(parts, key=lambda part: -parts[part])[:3]
        shares = [f"{part} {percent(parts[part] / total)}" for part in largest]
        said.append(f"{text}: {', '.join(shares)}.")
    about = f"{case.label}, on {view.accelerators[machine]}, {account} account"
    return (Said(about, tuple(said)),)
