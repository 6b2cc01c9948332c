"""Which operations remain: multiplies and adds by phase, and everything else."""

from __future__ import annotations

from santa_sim.report.machines import has_multiplier
from santa_sim.report.printed import count, grouped
from santa_sim.report.section import Figure, Fold, Said, Section, Table
from santa_sim.report.selection import anchors, main_accelerator, roles, typical
from santa_sim.report.view import Case, View

_TOLD = ("multiply", "add", "accumulate", "exp", "divide", "shift", "random_bits")
"""Kinds that the table shows; addresses, comparisons and conversions are in the figure."""
_FEW = 16
"""Methods that the table shows without a choice."""


def operation_counts(view: View) -> Section:
    """Return the section on operations."""
    misfits = _misfits(view)
    folds = () if not misfits.rows else (
        Fold("What does not run where, and what it lacks", misfits),
    )
    return Section(
        name="operations",
        title="Operations",
        question="Which operations remain, and in which phase?",
        answer=_answer(view),
        figures=(Figure("operations"),),
        how_to_read="Operations as the accelerator executes them; a fused multiply-add is one "
        "multiply and one add. Hatched: the accelerator cannot run the method, and the bar shows "
        "what the method asks for, a row drawn c times as c additions.",
        tables=(_remaining(view),),
        folds=folds,
    )


def words(kind: str) -> str:
    """Return a kind of operation as a reader says it."""
    return {
        "multiply": "multiplies", "add": "adds", "exp": "exponentials", "divide": "divisions",
        "shift": "shifts", "compare": "comparisons", "convert": "conversions",
        "random_bits": "random bits", "address": "addresses",
        "accumulate": "weighted row additions", "random_product": "products with a random number",
    }.get(kind, kind)


def _answer(view: View) -> tuple[Said, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    chosen = roles(view, case)
    here = [m for m in chosen.present().values() if m != chosen.joint]
    said = [Said(
        f"{case.label}, on {view.accelerators[machine]}",
        tuple(_counted(view, case, machine, method) for method in here),
    )]
    found: dict[str, str] = {}
    for name, title in view.accelerators.items():
        if has_multiplier(view, name):
            continue
        rows = view.rows(case, name)
        runs = sum(row["fits"] for row in rows.values())
        text = f"No multiplier here: {runs} of the {len(rows)} methods run."
        if chosen.joint in rows and rows[chosen.joint]["fits"]:
            text += f" {_counted(view, case, name, chosen.joint)}"
        found[title] = text
    said += [
        Said(f"{case.label}, on {titles}", (text,)) for titles, text in grouped(found).items()
    ]
    return tuple(s for s in said if s.sentences)


def _counted(view: View, case: Case, machine: str, method: str) -> str:
    """Say what a method takes on a machine, multiplies by phase."""
    rows = view.operations
    rows = rows[
        (rows["case"] == case.number) & (rows["accelerator"] == machine)
        & (rows["method"] == method)
    ]
    totals = rows.groupby("kind")["count"].sum().to_dict()
    multiplies = rows[rows["kind"] == "multiply"].groupby("phase")["count"].sum()
    text = f"{method}: {count(totals['multiply']) if totals.get('multiply') else 'no'} multiplies"
    if totals.get("multiply"):
        shares = multiplies[multiplies > 0].sort_values(ascending=False, kind="stable")
        text += f" ({', '.join(f'{count(n)} in {phase}' for phase, n in shares.items())})"
    others = ["add", *(k for k in ("exp", "divide", "shift", "random_bits") if totals.get(k))]
    listed = [f"{count(totals.get(k, 0.0))} {words(k)}" for k in others]
    return f"{', '.join([text, *listed])}."


def _without_multiplier(view: View) -> str:
    """Return the first machine without a multiplier, whose zeros are the point, or the main one."""
    names = (name for name in view.accelerators if not has_multiplier(view, name))
    return next(names, main_accelerator(view))


def _remaining(view: View) -> Table:
    """What is left to do per method, on the machine without a multiplier where there is one."""
    case, machine = anchors(view)[0], _without_multiplier(view)
    rows = view.operations[
        (view.operations["case"] == case.number) & (view.operations["accelerator"] == machine)
    ]
    counts = rows.groupby(["method", "kind"])["count"].sum().to_dict()
    used = [k for k in _TOLD if any(counts.get((m, k)) for m in view.methods(case))]
    here = view.rows(case, machine)
    methods = view.methods(case) if len(view.methods(case)) <= _FEW else typical(view, case)
    return Table(
        ("Method", "Runs", *(words(k) for k in used)),
        tuple(
            (m, "yes" if m in here and here[m]["fits"] else "no",
             *(count(counts.get((m, k), 0.0)) for k in used))
            for m in methods
        ),
        frozenset(range(2, 2 + len(used))),
        caption=f"{case.label}, on {view.accelerators[machine]}",
    )


def _misfits(view: View) -> Table:
    """Return what is lacking where, phases and counts of the longest case; equal reasons once."""
    wrong = view.means[~view.means["fits"]].sort_values("context", kind="stable")
    wrong = wrong.drop_duplicates(["accelerator", "method"], keep="last").sort_index()
    labels = {c.number: c.label for c in view.cases}
    methods: dict[tuple[str, str, int], list[str]] = {}
    columns = (wrong[c] for c in ("accelerator", "method", "misfit", "case"))
    for machine, method, misfit, case in zip(*columns, strict=True):
        methods.setdefault((machine, _reason(misfit), case), []).append(method)
    machines: dict[tuple[str, str, str], list[str]] = {}
    for (machine, reason, case), found in methods.items():
        key = "; ".join(found), reason, labels[case]
        machines.setdefault(key, []).append(view.accelerators[machine])
    return Table(
        ("Accelerators", "Methods", "What they lack", "Counted in"),
        tuple(("; ".join(titles), *key) for key, titles in machines.items()),
    )


def _reason(misfit: str) -> str:
    """Return a misfit without the name of the accelerator, which stands beside it."""
    return misfit.split(": ", 1)[1] if misfit.startswith("does not fit") else misfit
