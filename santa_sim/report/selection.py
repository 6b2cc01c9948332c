"""Which case, accelerator and methods a sentence speaks about, chosen by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from santa_sim.report.view import ERROR_BUDGET, Case, View

if TYPE_CHECKING:
    import pandas as pd

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


def reference_accelerator(view: View, case: Case, accelerator: str) -> str | None:
    """Where dense runs for comparison: here, or on the twin that differs only in arithmetic."""
    twin = accelerator.replace("ternary", "bf16")
    for name in dict.fromkeys((accelerator, twin)):
        if name in view.accelerators:
            rows = view.rows(case, name)
            if (is_dense(rows) & rows["fits"]).any():
                return name
    return None


def dense_row(view: View, case: Case, accelerator: str) -> pd.Series | None:
    """The dense row to compare with, from `reference_accelerator`."""
    name = reference_accelerator(view, case, accelerator)
    if name is None:
        return None
    rows = view.rows(case, name)
    return rows[is_dense(rows) & rows["fits"]].iloc[0]


def is_dense(rows: pd.DataFrame) -> pd.Series:
    """Which rows are plain attention."""
    return (rows["score_stage"] == "exact") & (rows["value_stage"] == "dense")


def within_budget(rows: pd.DataFrame) -> pd.Series:
    """Which rows keep the error budget with the upper end of their 95 % interval."""
    return rows["rel_error_high"].fillna(rows["rel_error"]) <= ERROR_BUDGET


def cheapest_within_budget(view: View, case: Case, accelerator: str) -> pd.Series | None:
    """The row of least energy among those that run here and keep the budget, dense included."""
    rows = view.rows(case, accelerator)
    energy = f"{view.account_of(accelerator)}_energy_j"
    rows = rows[rows["fits"] & within_budget(rows) & rows[energy].notna()]
    return None if rows.empty else rows.sort_values(energy, kind="stable").iloc[0]


def least_error(view: View, case: Case, accelerator: str) -> pd.Series | None:
    """The row of least error among those that run here, if errors are known."""
    rows = view.rows(case, accelerator)
    rows = rows[rows["fits"] & rows["rel_error"].notna()]
    return None if rows.empty else rows.sort_values("rel_error", kind="stable").iloc[0]


def roles(view: View, case: Case) -> Roles:
    """Choose the methods that stand for their kind in a case.

    A sampled method is best if it keeps the budget at the least energy on the main accelerator;
    if none keeps it, the one of least error. A joint method that more accelerators can run comes
    first: it is shown for the sake of machines without a multiplier.
    """
    rows = _ranked(view, case)
    exact, sampled = rows["score_stage"] == "exact", rows["value_stage"] != "dense"
    joint = rows[~exact & sampled]
    return Roles(
        dense=_first(rows[is_dense(rows)]),
        sampled=_first(rows[exact & sampled]),
        joint=_first(rows[~exact] if joint.empty else joint),
    )


def typical(view: View, case: Case) -> list[str]:
    """Return one method per pair of stages, chosen as in `roles`, in the order of display."""
    rows = _ranked(view, case)
    best = rows.drop_duplicates(["score_stage", "value_stage"])["method"]
    return [m for m in view.methods(case) if m in set(best)]


def _ranked(view: View, case: Case) -> pd.DataFrame:
    """Return the methods of a case, the best of any kind before the others of that kind."""
    accelerator = main_accelerator(view)
    rows = view.rows(case, accelerator)
    if rows.empty:
        rows = view.rows(case)
    runs = view.means[view.means["case"] == case.number].groupby("method")["fits"].sum()
    kept = within_budget(rows)
    energy = rows[f"{view.account_of(accelerator)}_energy_j"]
    return rows.assign(
        _over=~kept, _cost=energy.where(kept, rows["rel_error"]),
        _fewer=-rows["method"].map(runs) * (rows["score_stage"] != "exact"),
    ).sort_values(["_fewer", "_over", "_cost"], kind="stable")


def _first(rows: pd.DataFrame) -> str | None:
    return None if rows.empty else str(rows.iloc[0]["method"])
