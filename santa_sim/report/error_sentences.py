"""Sentences on output error: ternary queries against exact scores, tile budgets against a comb."""

from __future__ import annotations

import math

from santa_sim.report.printed import listed, percent, times
from santa_sim.report.section import Said
from santa_sim.report.selection import anchors, cheapest_within_budget, main_accelerator
from santa_sim.report.view import BUDGET_TEXT, Case, Row, View


def error_answer(view: View) -> tuple[Said, ...]:
    """Return the sentences of the section on error, for the anchor cases."""
    if not view.points["rel_error"].notna().any():
        return (Said("", (
            "This study took closed forms for what the methods read and compute; without an "
            "output there is no error, so no method can be called usable.",
        )),)
    said = []
    for case in anchors(view):
        facts = [ternary_cost(view, case), tile_budget_cost(view, case), _counted(view, case)]
        said.append(Said(case.label, tuple(f for f in facts if f)))
    return tuple(said)


def ternary_cost(view: View, case: Case) -> str:
    """Say what ternary queries do to the error of sampled values, for each number of trials.

    Compares the sampled values of least error among those that were run with both kinds of scores.
    """
    rows = _known(view, case)
    noisy = [r for r in rows if r["score_stage"] != "exact" and r["value_stage"] != "dense"]
    exact = {
        _values(r): r for r in rows if r["score_stage"] == "exact" and r["value_stage"] != "dense"
    }
    both = [exact[_values(r)] for r in noisy if _values(r) in exact]
    if not both:
        return ""
    plain_scores = min(both, key=lambda r: float(r["rel_error"]))
    by_trials = {
        r["trials"]: r for r in sorted(noisy, key=lambda r: -r["rel_error"])
        if _values(r) == _values(plain_scores)
    }
    trials = sorted(by_trials)
    errors = [f"{percent(by_trials[t]['rel_error'])} with R = {t:,.0f}" for t in trials]
    return (
        f"{plain_scores['method']} has an error of {percent(plain_scores['rel_error'])} with exact "
        f"scores; ternary queries make that {listed(errors)}: "
        f"{_verdict(by_trials[trials[-1]], plain_scores)} at best."
    )


def tile_budget_cost(view: View, case: Case) -> str:
    """Say what the same budget in every tile costs against one comb over all tiles."""
    rows = [r for r in _known(view, case) if r["score_stage"] == "exact"]
    comb = {
        (r["samples_requested"], r["offsets"]): r
        for r in rows if r["value_stage"] == "s2anta_comb"
    }
    pairs = [
        (r, comb[r["samples_requested"], r["offsets"]]) for r in rows
        if r["value_stage"] == "s2anta_flash" and (r["samples_requested"], r["offsets"]) in comb
    ]
    if not pairs:
        return ""
    flash, other = max(pairs, key=lambda pair: float(pair[0]["samples_requested"]))
    return (
        f"At S = {flash['samples_requested']:,.0f}, the same budget in every tile (s2anta_flash) "
        f"has an error of {percent(flash['rel_error'])} and one comb over all tiles (s2anta_comb) "
        f"{percent(other['rel_error'])}: {_verdict(flash, other)}."
    )


def _known(view: View, case: Case) -> list[Row]:
    return [r for r in view.rows(case).values() if math.isfinite(r["rel_error"])]


def _values(row: Row) -> tuple[str, str, str, str]:
    """Return what identifies a value stage with its parameters."""
    return (
        row["value_stage"], str(row["samples_requested"]), str(row["tile"]), row["offsets"]
    )


def _verdict(row: Row, other: Row) -> str:
    a, b = row["rel_error"], other["rel_error"]
    ends = [row["rel_error_low"], row["rel_error_high"], other["rel_error_low"],
            other["rel_error_high"]]
    if not all(map(math.isfinite, ends)):
        return f"{times(a / b)} as much, for one seed"
    if ends[0] <= ends[3] and ends[2] <= ends[1]:
        return "no difference beyond the noise over seeds"
    return f"{times(a / b)} as much"


def _counted(view: View, case: Case) -> str:
    rows = _known(view, case)
    over = sum(r["rel_error"] > 1 for r in rows)
    machine = main_accelerator(view)
    best = cheapest_within_budget(view, case, machine)
    kept = "no method keeps" if best is None else f"{best['method']} is the cheapest that keeps"
    text = f"On {view.accelerators[machine]}, {kept} the error within {BUDGET_TEXT}"
    if over:
        text += f"; {over} of {len(rows)} methods err by more than 100 %, worse than zeros"
    return f"{text}."
