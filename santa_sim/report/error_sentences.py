"""Sentences on output error: ternary queries against exact scores, tile budgets against a comb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from santa_sim.report.printed import percent, times
from santa_sim.report.selection import anchors, cheapest_within_budget, main_accelerator
from santa_sim.report.view import ERROR_BUDGET, Case, View

if TYPE_CHECKING:
    import pandas as pd


def error_answer(view: View) -> tuple[str, ...]:
    """Return the sentences of the section on error, for the anchor cases."""
    if not view.points["rel_error"].notna().any():
        return (
            "This study took closed forms for what the methods read and compute; without an "
            "output there is no error, so no method can be called usable.",
        )
    said = []
    for case in anchors(view):
        facts = [ternary_cost(view, case), tile_budget_cost(view, case), _counted(view, case)]
        found = [f for f in facts if f]
        if found:
            found[0] = f"{case.label}: {found[0]}"
            said += found
    return tuple(said)


def ternary_cost(view: View, case: Case) -> str:
    """Say what ternary queries add to the error of the best sampled values, at most trials."""
    rows = view.rows(case)
    rows = rows[rows["rel_error"].notna()]
    exact = rows[(rows["score_stage"] == "exact") & (rows["value_stage"] != "dense")]
    noisy = rows[(rows["score_stage"] != "exact") & (rows["value_stage"] != "dense")]
    same = ["value_stage", "samples_requested", "tile", "offsets"]
    pairs = noisy.merge(exact, on=same, suffixes=("", "_exact"))
    if pairs.empty:
        return ""
    pairs = pairs[pairs["trials"] == pairs["trials"].max()]
    row = pairs.sort_values("rel_error", kind="stable").iloc[0]
    text = (
        f"ternary queries of R = {row['trials']:.0f}, the most trials here, have an error of "
        f"{percent(row['rel_error'])} at best, where {row['method_exact']} with exact scores has "
        f"{percent(row['rel_error_exact'])}"
    )
    return f"{text}: {_verdict(row, '', '_exact')}."


def tile_budget_cost(view: View, case: Case) -> str:
    """Say what the same budget in every tile costs against one comb over all tiles."""
    rows = view.rows(case)
    rows = rows[rows["rel_error"].notna() & (rows["score_stage"] == "exact")]
    same = ["samples_requested", "tile", "offsets"]
    flash, comb = (rows[rows["value_stage"] == v] for v in ("s2anta_flash", "s2anta_comb"))
    pairs = flash.merge(comb, on=same, suffixes=("", "_comb"))
    if pairs.empty:
        return ""
    row = pairs.sort_values("samples_requested", kind="stable").iloc[-1]
    text = (
        f"at S = {row['samples_requested']:,.0f}, the same budget in every tile (s2anta_flash) has "
        f"an error of {percent(row['rel_error'])} and one comb over all tiles (s2anta_comb) "
        f"{percent(row['rel_error_comb'])}"
    )
    return f"{text}: {_verdict(row, '', '_comb')}."


def _verdict(row: pd.Series, first: str, second: str) -> str:
    a, b = row[f"rel_error{first}"], row[f"rel_error{second}"]
    apart = (
        row[f"rel_error_low{first}"] > row[f"rel_error_high{second}"]
        or row[f"rel_error_high{first}"] < row[f"rel_error_low{second}"]
    )
    if not apart:
        return "no difference beyond the noise over seeds"
    return f"{times(a / b)} as much" if a >= b else f"{times(b / a)} less"


def _counted(view: View, case: Case) -> str:
    rows = view.rows(case)
    rows = rows[rows["rel_error"].notna()]
    over = int((rows["rel_error"] > 1).sum())
    best = cheapest_within_budget(view, case, main_accelerator(view))
    kept = "none keeps" if best is None else f"{best['method']} is the cheapest that keeps"
    text = f"on {view.accelerators[main_accelerator(view)]} {kept} the error within " + percent(
        ERROR_BUDGET
    )
    if over:
        text += f"; {over} of {len(rows)} methods err by more than 100 %, worse than zeros"
    return text + "."
