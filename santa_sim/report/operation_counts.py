"""Which operations remain: multiplies and adds by phase, and everything else."""

from __future__ import annotations

import itertools
from typing import Any

from santa_sim.report.bars import Bars, Stack, stacked_bars
from santa_sim.report.choices import accelerator_menu, case_menu, method_menu, shown_methods
from santa_sim.report.machines import has_multiplier
from santa_sim.report.palette import OTHER_COLOURS, PHASE_COLOURS
from santa_sim.report.printed import si
from santa_sim.report.section import Figure, Fold, Menu, Section, Table
from santa_sim.report.selection import anchors, main_accelerator, roles
from santa_sim.report.view import Case, View

Counts = dict[Any, float]
_FIRST = ("multiply", "add", "exp", "divide")


def operation_counts(view: View) -> Section:
    """Return the section on operations."""
    misfits = _misfits(view)
    folds = () if not misfits.rows else (
        Fold(f"What does not run where ({len(misfits.rows)})", misfits),
    )
    return Section(
        name="operations",
        question="Which operations remain, and in which phase?",
        answer=_answer(view),
        figure=_figure(view),
        how_to_read="Operations as the accelerator executes them; a fused multiply-add is one "
        "multiply and one add. Hatched: the accelerator cannot run the method, and the bar shows "
        "what the method asks for.",
        tables=(_remaining(view),),
        folds=folds,
    )


def kinds(view: View) -> list[str]:
    """Return the kinds of operations in the tables, multiplies and adds first."""
    found = set(view.operations["kind"])
    return [k for k in _FIRST if k in found] + sorted(found - set(_FIRST))


def words(kind: str) -> str:
    """Return a kind of operation as a reader says it."""
    return {
        "multiply": "multiplies", "add": "adds", "exp": "exponentials", "divide": "divisions",
        "shift": "shifts", "compare": "comparisons", "convert": "conversions",
        "random_bits": "random bits", "address": "addresses",
        "accumulate": "weighted row additions", "random_product": "products with a random number",
    }.get(kind, kind)


def _answer(view: View) -> tuple[str, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    said = []
    for method in roles(view, case).present().values():
        rows = view.operations[
            (view.operations["case"] == case.number)
            & (view.operations["accelerator"] == machine)
            & (view.operations["method"] == method)
        ]
        counts = rows.groupby("kind")["count"].sum().to_dict()
        by_phase = rows[rows["kind"] == "multiply"].groupby("phase")["count"].sum().to_dict()
        multiplies = counts.get("multiply", 0.0)
        text = f"{method}: {si(multiplies) if multiplies else 'no'} multiplies"
        if multiplies:
            shares = [f"{si(n)} in {p}" for p, n in by_phase.items() if n]
            text += f" ({', '.join(shares)})"
        text += f", {si(counts.get('add', 0.0))} adds"
        others = [f"{si(counts[k])} {words(k)}" for k in ("exp", "divide", "shift", "random_bits")
                  if counts.get(k)]
        said.append(text + (f", {', '.join(others)}." if others else "."))
    if said:
        said[0] = f"{case.label}, on {view.accelerators[machine]}. {said[0]}"
    for name, title in view.accelerators.items():
        if has_multiplier(view, name):
            continue
        here = view.rows(case, name)
        runs = int(here["fits"].sum())
        said.append(
            f"{title} has no multiplier: {runs} of the {len(here)} methods run on it, and the "
            f"others are listed below with what they lack."
        )
    return tuple(said)


def _remaining(view: View) -> Table:
    """What is left to do per method, on the machine without a multiplier where there is one."""
    case = anchors(view)[0]
    without = [name for name in view.accelerators if not has_multiplier(view, name)]
    machine = without[0] if without else main_accelerator(view)
    rows = view.operations[
        (view.operations["case"] == case.number) & (view.operations["accelerator"] == machine)
    ]
    counts = rows.groupby(["method", "kind"])["count"].sum().to_dict()
    used = [k for k in kinds(view) if any(counts.get((m, k)) for m in view.methods(case))]
    fits = dict(zip(*(view.rows(case, machine)[c] for c in ("method", "fits")), strict=True))
    methods = shown_methods(view, case, method_menu(view).options[0])
    return Table(
        (f"{case.label}, on {view.accelerators[machine]}", "Runs", *(words(k) for k in used)),
        tuple(
            (m, "yes" if fits.get(m) else "no", *(si(counts.get((m, k), 0.0)) for k in used))
            for m in methods
        ),
        frozenset(range(2, 2 + len(used))),
    )


def _misfits(view: View) -> Table:
    """Return method and machine, with phases and counts of the longest case."""
    wrong = view.means[~view.means["fits"]].sort_values("context", kind="stable")
    wrong = wrong.drop_duplicates(["accelerator", "method"], keep="last")
    wrong = wrong.sort_values(["accelerator", "method"], kind="stable")
    labels = {c.number: c.label for c in view.cases}
    return Table(
        ("Accelerator", "Method", "What it lacks", "Counted in"),
        tuple(
            (view.accelerators[str(r.accelerator)], str(r.method), _reason(str(r.misfit)),
             labels[int(r.case)])
            for r in wrong.itertuples()
        ),
    )


def _reason(misfit: str) -> str:
    """Return a misfit without the name of the accelerator, which stands beside it."""
    return misfit.split(": ", 1)[1] if misfit.startswith("does not fit") else misfit


def _figure(view: View) -> Figure:
    views = Menu("Operations", ("multiplies by phase", "adds by phase", "everything else by kind"))
    menus = (case_menu(view), accelerator_menu(view), views, method_menu(view))
    keys = ["case", "accelerator", "kind", "phase", "method"]
    counts: Counts = view.operations.groupby(keys)["count"].sum().to_dict()
    panels = {}
    for i, case in enumerate(view.cases):
        for j, machine in enumerate(view.accelerators):
            here = view.rows(case, machine)
            crossed = frozenset(here.loc[~here["fits"], "method"])
            for k, m in itertools.product(range(3), range(len(menus[3].options))):
                methods = shown_methods(view, case, menus[3].options[m])
                stacks, title, colours = _stacks(view, counts, case, machine, methods, k)
                panels[i, j, k, m] = stacked_bars(Bars(
                    methods, stacks, "", f"{title} per decode step and layer", colours,
                    crossed=crossed,
                ))
    return Figure(menus, panels)


def _stacks(
    view: View, counts: Counts, case: Case, machine: str, methods: list[str], which: int
) -> tuple[list[Stack], str, dict[str, str]]:
    """Return layers, title and colours of one of the three views of the counts."""
    def of(kind: str, phase: str) -> list[float]:
        return [float(counts.get((case.number, machine, kind, phase, m), 0.0)) for m in methods]

    if which < 2:
        kind = ("multiply", "add")[which]
        stacks = [Stack(phase, of(kind, phase)) for phase in PHASE_COLOURS]
        return stacks, words(kind).capitalize(), PHASE_COLOURS
    others = [kind for kind in kinds(view) if kind not in ("multiply", "add")]
    stacks = [
        Stack(words(kind), [sum(column) for column in
                            zip(*(of(kind, phase) for phase in PHASE_COLOURS), strict=True)])
        for kind in others
    ]
    colours = dict(zip(map(words, others), OTHER_COLOURS, strict=False))
    return stacks, "Operations other than multiplies and adds", colours
