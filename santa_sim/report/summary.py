"""The answer in a few sentences, and a table of what is usable where."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from santa_sim.report.break_even import BreakEven, break_even, machines_with_multiplier
from santa_sim.report.error_sentences import ternary_cost
from santa_sim.report.machines import has_multiplier
from santa_sim.report.printed import MISSING, compared, percent, plain, share_of, si, span
from santa_sim.report.section import Fold, Section, Table
from santa_sim.report.selection import (
    anchors,
    cheapest_within_budget,
    dense_row,
    is_dense,
    least_error,
    main_accelerator,
    reference_accelerator,
)
from santa_sim.report.view import ERROR_BUDGET, Case, View

if TYPE_CHECKING:
    import pandas as pd

_HEADER = (
    "Attention", "Accelerator", f"Cheapest method with an error within {percent(ERROR_BUDGET)}",
    "Error", "Energy, share of dense", "Time, share of dense", "Bytes, share of dense",
)


def summary(view: View) -> Section:
    """Return the first section."""
    without = [name for name in view.accelerators if not has_multiplier(view, name)]
    question = (
        "What would a multiplier-free ternary machine gain?" if without
        else "What does sampling the KV cache gain, and at what error?"
    )
    spoken = anchors(view)
    rest = [c for c in view.cases if c not in spoken]
    folds = () if not rest else (
        Fold(f"All {len(view.cases)} kinds of attention", _table(view, view.cases)),
    )
    return Section(
        "summary", question, _answer(view, without), tables=(_table(view, spoken),),
        how_to_read="Shares in brackets: range from the constants, both sides at the same end. "
        "Where dense attention does not run, it is taken from the twin that can multiply.",
        folds=folds,
    )


def _answer(view: View, without: list[str]) -> tuple[str, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    said = [_dense_sentence(view, case, machine), _best_sentence(view, case, machine)]
    said += [_best_sentence(view, case, name) for name in without if name != machine]
    ternary = ternary_cost(view, case)
    if ternary:
        said.append(f"Same attention: {ternary}")
    others = anchors(view)[1:]
    for name in without or [machine]:
        said += [_best_sentence(view, other, name) for other in others]
    machines = machines_with_multiplier(view)
    if machines:
        found = break_even(view, case, machines[0])
        if isinstance(found, BreakEven):
            said.append(_crossing_sentence(view, found))
    return tuple(text for text in said if text)


def _dense_sentence(view: View, case: Case, machine: str) -> str:
    dense = dense_row(view, case, machine)
    name = reference_accelerator(view, case, machine)
    if dense is None or name is None:
        return f"{case.label}: dense attention was not run, so there is nothing to compare with."
    account = view.account_of(name)
    total = dense[f"{account}_energy_j"]
    ends = (dense[f"{account}_energy_low_j"], dense[f"{account}_energy_high_j"])
    parts = view.energy[
        (view.energy["case"] == case.number) & (view.energy["accelerator"] == name)
        & (view.energy["account"] == account) & (view.energy["method"] == dense["method"])
    ]
    multiply = float(parts.loc[parts["part"] == "multiply", "nominal_j"].sum())
    return (
        f"{case.label}: on {view.accelerators[name]}, dense attention takes "
        f"{span(total, *ends, 'J')} ({account} account) and moves {si(dense['moved_bytes'], 'B')} "
        f"per decode step and layer; multiplies are {percent(multiply / total)} of that energy."
    )


def _best_sentence(view: View, case: Case, machine: str) -> str:
    """Say what the best usable method gains on a machine, or that none is usable or gains."""
    title = view.accelerators[machine]
    rows = view.rows(case, machine)
    runs = int(rows["fits"].sum())
    if not runs:
        return f"{case.label}: none of the {len(rows)} methods runs on {title}."
    if not rows["rel_error"].notna().any():
        return f"{case.label}: {runs} of {len(rows)} methods run on {title}; no errors are known."
    best = cheapest_within_budget(view, case, machine)
    start = f"{case.label}, on {title}: "
    if best is None:
        nearest = least_error(view, case, machine)
        error = "" if nearest is None else (
            f"; the least error is {percent(nearest['rel_error'])}, of {nearest['method']}"
        )
        return (
            f"{start}nothing usable: none of the {runs} methods that run there keeps the error "
            f"within {percent(ERROR_BUDGET)}{error}."
        )
    if is_dense(best.to_frame().T).iloc[0]:
        return f"{start}no method with an error within {percent(ERROR_BUDGET)} beats dense."
    text = f"{start}{best['method']} (error {percent(best['rel_error'])})"
    dense = dense_row(view, case, machine)
    energy = f"{view.account_of(machine)}_energy_j"
    if dense is None or not math.isfinite(dense[energy]):
        return f"{text} takes {si(best[energy], 'J')}; dense is not there to compare."
    return (
        f"{text} takes {compared(best[energy] / dense[energy], 'dense')} in energy, "
        f"{compared(best['time_s'] / dense['time_s'], 'dense')} in time and "
        f"{compared(best['moved_bytes'] / dense['moved_bytes'], 'dense')} in bytes."
    )


def _crossing_sentence(view: View, found: BreakEven) -> str:
    crossing = found.crossing_pj_per_bit()
    if crossing is None:
        return ""
    return (
        f"Removing every multiply would save more than the bytes that {found.sampled} saves only "
        f"with a memory below {plain(crossing.nominal)} [{plain(crossing.low)}, "
        f"{plain(crossing.high)}] pJ/bit."
    )


def _table(view: View, cases: list[Case]) -> Table:
    return Table(
        _HEADER,
        tuple(_row(view, case, name) for case in cases for name in view.accelerators),
        frozenset({3, 4, 5, 6}),
    )


def _row(view: View, case: Case, machine: str) -> tuple[str, ...]:
    start = (case.label, view.accelerators[machine])
    best = cheapest_within_budget(view, case, machine)
    if best is None:
        nearest = least_error(view, case, machine)
        rows = view.rows(case, machine)
        if nearest is not None:
            return (*start, f"none; least error: {nearest['method']}",
                    percent(nearest["rel_error"]), MISSING, MISSING, MISSING)
        text = "errors unknown" if rows["fits"].any() else "none runs"
        return (*start, text, *[MISSING] * 4)
    dense = dense_row(view, case, machine)
    shares = (MISSING,) * 3 if dense is None else _shares(view, best, dense, machine)
    return (*start, str(best["method"]), percent(best["rel_error"]), *shares)


def _shares(view: View, best: pd.Series, dense: pd.Series, machine: str) -> tuple[str, str, str]:
    account = view.account_of(machine)
    energy = [best[c] / dense[c] for c in (
        f"{account}_energy_j", f"{account}_energy_low_j", f"{account}_energy_high_j"
    )]
    time = [best[c] / dense[c] for c in ("time_s", "time_low_s", "time_high_s")]
    return (
        share_of(energy[0], min(energy), max(energy)),
        share_of(time[0], min(time), max(time)),
        percent(best["moved_bytes"] / dense["moved_bytes"]),
    )
