"""Which case, accelerator and methods a sentence speaks about, chosen by rule."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from santa_sim.report.view import ERROR_BUDGET, Case, Row, View

ROLES: tuple[str, ...] = ("dense", "sampled", "joint")


@dataclass(frozen=True)
class Roles:
    """The methods that stand for a kind in figures that cannot show all; None where absent.

    dense: exact scores and values. sampled: the best one with exact scores and sampled values.
    joint: the best one with ternary queries.
    """

    dense: str | None
    sampled: str | None
    joint: str | None

    def present(self) -> dict[str, str]:
        """Role -> method, absent roles left out."""
        pairs = zip(ROLES, (self.dense, self.sampled, self.joint), strict=True)
        return {role: method for role, method in pairs if method is not None}


def anchors(view: View) -> list[Case]:
    """The longest context of the captures and the longest of the synthetic sources, if any."""
    found = []
    for capture in (True, False):
        cases = [c for c in view.cases if c.is_capture == capture]
        if cases:
            longest = max(c.context for c in cases)
            found.append(next(c for c in cases if c.context == longest))
    return found


def main_accelerator(view: View) -> str:
    """The machine that a sentence speaks about: the bf16 twin with LPDDR5, or what runs most."""
    names = list(view.accelerators)
    for wanted in ("edge_bf16_7nm_lpddr5", "edge_bf16_7nm"):
        for name in names:
            if name.startswith(wanted):
                return name
    fits = view.points.groupby("accelerator")["fits"].sum()
    return max(names, key=lambda name: (int(fits[name]), -names.index(name)))


def is_dense(row: Row) -> bool:
    """Whether a method is plain attention."""
    return bool(row["score_stage"] == "exact" and row["value_stage"] == "dense")


def within_budget(row: Row) -> bool:
    """Whether a method keeps the error budget with the upper end of its 95 % interval."""
    high = row["rel_error_high"]
    return bool((high if math.isfinite(high) else row["rel_error"]) <= ERROR_BUDGET)


def reference_accelerator(view: View, case: Case, accelerator: str) -> str | None:
    """Where dense runs for comparison: here, or on the twin that differs only in arithmetic."""
    twin = accelerator.replace("ternary", "bf16")
    for name in dict.fromkeys((accelerator, twin)):
        if any(is_dense(row) and row["fits"] for row in view.rows(case, name).values()):
            return name
    return None


def dense_row(view: View, case: Case, accelerator: str) -> Row | None:
    """The dense row to compare with, from `reference_accelerator`."""
    name = reference_accelerator(view, case, accelerator)
    if name is None:
        return None
    rows = view.rows(case, name).values()
    return next(row for row in rows if is_dense(row) and row["fits"])


def cheapest_within_budget(view: View, case: Case, accelerator: str) -> Row | None:
    """The row of least energy among those that run here and keep the budget, dense included."""
    energy = f"{view.account_of(accelerator)}_energy_j"
    usable = [
        row for row in view.rows(case, accelerator).values()
        if row["fits"] and within_budget(row) and math.isfinite(row[energy])
    ]
    return min(usable, key=lambda row: float(row[energy]), default=None)


def least_error(view: View, case: Case, accelerator: str) -> Row | None:
    """The row of least error among those that run here, if errors are known."""
    known = [
        row for row in view.rows(case, accelerator).values()
        if row["fits"] and math.isfinite(row["rel_error"])
    ]
    return min(known, key=lambda row: float(row["rel_error"]), default=None)


def roles(view: View, case: Case) -> Roles:
    """Choose the methods that stand for their kind in a case.

    A sampled method is best if it keeps the budget at the least energy on the main accelerator;
    if none keeps it, the one of least error. A joint method that more accelerators can run comes
    first: it is shown for the sake of machines without a multiplier.
    """
    rows = _ranked(view, case)
    exact = [r for r in rows if r["score_stage"] == "exact"]
    noisy = [r for r in rows if r["score_stage"] != "exact"]
    return Roles(
        dense=_first(filter(is_dense, rows)),
        sampled=_first(r for r in exact if r["value_stage"] != "dense"),
        joint=_first([r for r in noisy if r["value_stage"] != "dense"] or noisy),
    )


def typical(view: View, case: Case) -> list[str]:
    """Return one method per pair of stages, chosen as in `roles`, in the order of display."""
    best: dict[tuple[str, str], str] = {}
    for row in _ranked(view, case):
        best.setdefault((row["score_stage"], row["value_stage"]), row["method"])
    chosen = set(best.values())
    return [m for m in view.methods(case) if m in chosen]


def _ranked(view: View, case: Case) -> list[Row]:
    """Return the methods of a case, the best of any kind before the others of that kind."""
    accelerator = main_accelerator(view)
    rows = view.rows(case, accelerator) or view.rows(case)
    energy = f"{view.account_of(accelerator)}_energy_j"

    def rank(row: Row) -> tuple[float, bool, float]:
        runs = sum(
            view.rows(case, name).get(row["method"], row)["fits"] for name in view.accelerators
        )
        kept = within_budget(row)
        cost = float(row[energy] if kept else row["rel_error"])
        fewer = -runs if row["score_stage"] != "exact" else 0
        return fewer, not kept, cost if math.isfinite(cost) else math.inf

    return sorted(rows.values(), key=rank)


def _first(rows: Iterable[Row]) -> str | None:
    return next((str(row["method"]) for row in rows), None)
