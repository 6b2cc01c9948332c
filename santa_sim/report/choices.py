"""The menus that figures share, and which methods fit into one figure."""

from __future__ import annotations

from dataclasses import dataclass

from santa_sim.report.section import Menu
from santa_sim.report.selection import anchors, main_accelerator, typical
from santa_sim.report.view import View

FEW = 16
"""Methods that one figure shows without a choice."""


def case_menu(view: View) -> Menu:
    """Return the menu of cases; the one that the sentences speak of is on show."""
    start = view.cases.index(anchors(view)[0])
    return Menu("Attention", tuple(c.label for c in view.cases), start)


def accelerator_menu(view: View, start: str | None = None) -> Menu:
    """Return the menu of accelerators; `start`, or what the sentences speak of, is on show."""
    first = list(view.accelerators).index(start or main_accelerator(view))
    return Menu("Accelerator", tuple(view.accelerators.values()), first)


@dataclass(frozen=True)
class MethodChoices:
    """A menu of how many methods to show, and per case the methods of each of its entries."""

    menu: Menu
    methods: tuple[tuple[list[str], ...], ...]


def method_choices(view: View) -> MethodChoices:
    """Return all methods as the only choice where they fit, else the best of each kind first."""
    every = [view.methods(case) for case in view.cases]
    if max(map(len, every)) <= FEW:
        return MethodChoices(Menu("Methods", ("all",)), tuple((m,) for m in every))
    best = [typical(view, case) for case in view.cases]
    menu = Menu("Methods", ("best of each kind", "all"))
    return MethodChoices(menu, tuple(zip(best, every, strict=True)))
