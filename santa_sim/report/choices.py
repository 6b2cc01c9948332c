"""The menus that figures share, and which methods fit into one figure."""

from __future__ import annotations

from santa_sim.report.section import Menu
from santa_sim.report.selection import anchors, main_accelerator, typical
from santa_sim.report.view import Case, View

FEW = 16
"""Methods that one figure shows without a choice."""


def case_menu(view: View) -> Menu:
    """Return the menu of cases; the one that the sentences speak of is on show."""
    start = view.cases.index(anchors(view)[0])
    return Menu("Attention", tuple(c.label for c in view.cases), start)


def accelerator_menu(view: View) -> Menu:
    """Return the menu of accelerators; the one that the sentences speak of is on show."""
    names = list(view.accelerators)
    start = names.index(main_accelerator(view))
    return Menu("Accelerator", tuple(view.accelerators.values()), start)


def method_menu(view: View) -> Menu:
    """Return the menu of how many methods to show; one entry where all fit."""
    if max(len(view.methods(c)) for c in view.cases) <= FEW:
        return Menu("Methods", ("all",))
    return Menu("Methods", ("best of each kind", "all"))


def shown_methods(view: View, case: Case, choice: str) -> list[str]:
    """Return the methods that an entry of `method_menu` stands for."""
    return view.methods(case) if choice == "all" else typical(view, case)
