"""The answer in a few sentences, and a table of what is usable where."""

from __future__ import annotations

import math

from santa_sim.report.break_even import BreakEven, break_even, machines_with_multiplier
from santa_sim.report.error_sentences import ternary_cost
from santa_sim.report.machines import bit_prices, has_multiplier
from santa_sim.report.printed import change, grouped, percent, plain, si, span
from santa_sim.report.section import Figure, Said, Section
from santa_sim.report.selection import (
    anchors,
    cheapest_within_budget,
    dense_row,
    is_dense,
    least_error,
    main_accelerator,
    reference_accelerator,
)
from santa_sim.report.view import BUDGET_TEXT, ZERO, Case, View


def summary(view: View) -> Section:
    """Return the first section."""
    without = [name for name in view.accelerators if not has_multiplier(view, name)]
    question = (
        "What would a multiplier-free ternary machine gain?" if without
        else "What does sampling the KV cache gain, and at what error?"
    )
    return Section(
        "summary", "Summary", question, _answer(view, without), (Figure("summary"),),
        how_to_read="Every accelerator is listed, whatever the filter of accelerators says; its "
        "name is a button that filters for it.",
    )


def _answer(view: View, without: list[str]) -> tuple[Said, ...]:
    case, machine = anchors(view)[0], main_accelerator(view)
    first = [_dense_sentence(view, case, machine), *_best_sentences(view, case, [machine])]
    first += _best_sentences(view, case, [name for name in without if name != machine])
    first.append(ternary_cost(view, case))
    machines = machines_with_multiplier(view)
    if machines:
        first.append(_crossing_sentence(view, break_even(view, case, machines[0])))
    said = [Said(case.label, tuple(text for text in first if text))]
    for other in anchors(view)[1:]:
        said.append(Said(other.label, tuple(_best_sentences(view, other, without or [machine]))))
    return tuple(said)


def _dense_sentence(view: View, case: Case, machine: str) -> str:
    dense = dense_row(view, case, machine)
    name = reference_accelerator(view, case, machine)
    if dense is None or name is None:
        return "Dense attention was not run, so there is nothing to compare with."
    account = view.account_of(name)
    total = dense[f"{account}_energy_j"]
    ends = (dense[f"{account}_energy_low_j"], dense[f"{account}_energy_high_j"])
    key = case.number, name, account, "multiply", dense["method"]
    multiply = view.parts.get(key, ZERO)[1]
    return (
        f"On {view.accelerators[name]}, dense attention takes {span(total, *ends, 'J')} "
        f"({account} account) and moves {si(dense['moved_bytes'], 'B')} per decode step and layer; "
        f"multiplies are {percent(multiply / total)} of that energy."
    )


def _best_sentences(view: View, case: Case, machines: list[str]) -> list[str]:
    said = grouped({view.accelerators[m]: _best(view, case, m) for m in machines})
    return [f"On {titles}: {text}" for titles, text in said.items()]


def _best(view: View, case: Case, machine: str) -> str:
    """Say what the best usable method gains on a machine, or that none is usable or gains."""
    rows = view.rows(case, machine).values()
    runs = sum(row["fits"] for row in rows)
    if not runs:
        return f"none of the {len(rows)} methods runs."
    if not any(math.isfinite(row["rel_error"]) for row in rows):
        return f"{runs} of {len(rows)} methods run; their errors are not known."
    best = cheapest_within_budget(view, case, machine)
    if best is None:
        nearest = least_error(view, case, machine)
        error = "" if nearest is None else (
            f"; the least error is {percent(nearest['rel_error'])}, of {nearest['method']}"
        )
        return (
            f"nothing is usable: none of the {runs} methods that run there keeps the error within "
            f"{BUDGET_TEXT}{error}."
        )
    if is_dense(best):
        return f"no method with an error within {BUDGET_TEXT} beats dense."
    text = f"{best['method']} (error {percent(best['rel_error'])})"
    dense = dense_row(view, case, machine)
    energy = f"{view.account_of(machine)}_energy_j"
    if dense is None or not math.isfinite(dense[energy]):
        return f"{text} takes {si(best[energy], 'J')}; dense is not there to compare."
    return (
        f"{text} takes {change(best[energy] / dense[energy], 'energy')}, "
        f"{change(best['time_s'] / dense['time_s'], 'time')} and "
        f"{change(best['moved_bytes'] / dense['moved_bytes'], 'traffic')} than dense."
    )


def _crossing_sentence(view: View, found: BreakEven | str) -> str:
    crossing = None if isinstance(found, str) else found.crossing_pj_per_bit()
    if isinstance(found, str) or crossing is None:
        return ""
    prices = [f"{p.name} {p.nominal:g}" for p in bit_prices(view, found.account)]
    here = f" ({', '.join(prices)} pJ/bit here)" if 0 < len(prices) <= 6 else ""
    return (
        f"Even if replacing the multiplies cost nothing, that would save more than the bytes that "
        f"{found.sampled} saves only with a memory below {plain(crossing.nominal)} "
        f"[{plain(crossing.low)}, {plain(crossing.high)}] pJ/bit{here}."
    )
