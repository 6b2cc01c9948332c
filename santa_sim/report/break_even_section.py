"""The section on break-even: sentences, figure, and what each memory makes of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from santa_sim.report.break_even import (
    BreakEven,
    Range,
    break_even,
    machines_with_multiplier,
)
from santa_sim.report.machines import bit_prices
from santa_sim.report.printed import plain, si, span, times
from santa_sim.report.section import Figure, Said, Section, Table
from santa_sim.report.selection import anchors
from santa_sim.report.tables import ACCOUNTS
from santa_sim.report.view import View

if TYPE_CHECKING:
    import pandas as pd


_TITLE = "Multipliers or bytes"


def break_even_section(view: View) -> Section:
    """Return the section on break-even."""
    question = (
        "Below which memory energy per bit do multipliers matter more than bytes?"
    )
    machines = machines_with_multiplier(view)
    if not machines:
        return Section("break-even", _TITLE, question, (Said("", (
            "No accelerator of this study has a multiplier whose energy is known, so there is "
            "none to remove.",
        )),))
    said: list[Said] = []
    tables: list[Table] = []
    for case in anchors(view):
        found = break_even(view, case, machines[0])
        if isinstance(found, str):
            said.append(Said(case.label, (found,)))
            continue
        about = f"{case.label}, on {view.accelerators[found.machine]}, {found.account} account"
        said.append(Said(about, tuple(break_even_sentences(view, found))))
        if not tables:
            tables.append(_by_memory(view, found))
    compared = _compared(view, machines)
    return Section(
        "break-even", _TITLE, question, tuple(said),
        (Figure("break_even"),) if len(compared) else (),
        "Where the rising line (bytes saved × 8 × pJ/bit) crosses a level line, both savings are "
        "equal; left of it multipliers matter more, right of it bytes do. Bands: range from the "
        "constants. Vertical lines: read energy of the memories in this study. The first kind of "
        "attention and accelerator with a multiplier that the filter leaves.",
        tables=tuple(tables),
        data={"break_even": compared, "bit_prices": _prices(view)} if len(compared) else {},
    )


def _compared(view: View, machines: list[str]) -> pd.DataFrame:
    """Return one row per case and machine on which the two savings can be compared."""
    import pandas as pd

    rows = []
    for case in view.cases:
        for machine in machines:
            found = break_even(view, case, machine)
            if isinstance(found, str):
                continue
            most, net = found.multiplies_j, found.arithmetic_j or Range(*[math.nan] * 3)
            rows.append({
                "case": case.number, "case_label": case.label, "accelerator": machine,
                "account": found.account, "sampled": found.sampled, "joint": found.joint or "",
                "bytes_saved": found.bytes_saved,
                "multiplies_low_j": most.low, "multiplies_nominal_j": most.nominal,
                "multiplies_high_j": most.high, "net_low_j": net.low, "net_nominal_j": net.nominal,
                "net_high_j": net.high,
            })
    return pd.DataFrame(rows)


def _prices(view: View) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([
        {"account": account, "name": price.name, "nominal": price.nominal}
        for account in ACCOUNTS for price in bit_prices(view, account)
    ], columns=["account", "name", "nominal"])


def break_even_sentences(view: View, found: BreakEven) -> list[str]:
    """Return what a break-even says in words."""
    most = found.multiplies_j
    said = [
        f"All multiplies of dense attention together take "
        f"{span(most.nominal, most.low, most.high, 'J')}, the most that removing them can save; "
        f"{found.sampled} saves {si(found.bytes_saved, 'B')} instead."
    ]
    crossing = found.crossing_pj_per_bit()
    if found.bytes_saved <= 0:
        said.append(
            f"{found.sampled} moves no fewer bytes than dense, so there is no break-even: at every "
            "memory energy multipliers matter more."
        )
    elif crossing is None:
        said.append(
            "Multiplies cost nothing here, so there is no break-even: at every memory energy bytes "
            "matter more."
        )
    else:
        said.append(
            f"The two are equal at {_pj(crossing)}: only below it do multipliers matter more than "
            "bytes."
        )
    if found.arithmetic_j is not None and found.twin is not None:
        said.append(_net_sentence(view, found, found.arithmetic_j))
    return said


def _net_sentence(view: View, found: BreakEven, net: Range) -> str:
    start = f"Replacing them, with {found.joint} on {view.accelerators[str(found.twin)]}, "
    crossing = found.net_crossing_pj_per_bit()
    if net.low <= 0 <= net.high:
        return (
            f"{start}changes the arithmetic by {span(-net.nominal, -net.high, -net.low, 'J')}: no "
            "difference within the range of the constants, so no break-even can be told."
        )
    if net.nominal < 0:
        return (
            f"{start}costs {span(-net.nominal, -net.high, -net.low, 'J')} more arithmetic than it "
            "saves: then there is no break-even, and bytes matter more at every memory energy."
        )
    text = f"{start}leaves {span(net.nominal, net.low, net.high, 'J')} of that saving"
    return f"{text}, and a break-even at {_pj(crossing)}." if crossing else f"{text}."


def _pj(value: Range) -> str:
    return f"{plain(value.nominal)} [{plain(value.low)}, {plain(value.high)}] pJ/bit"


def _by_memory(view: View, found: BreakEven) -> Table:
    rows = []
    for price in bit_prices(view, found.account):
        saved = found.bytes_j(price.nominal)
        most = found.multiplies_j.nominal
        ratio = saved / most if most > 0 else math.inf
        rows.append((
            price.name, f"{price.nominal:g} [{price.low:g}, {price.high:g}] pJ/bit", si(saved, "J"),
            si(most, "J"),
            "multipliers" if ratio < 1 else
            "bytes" if math.isinf(ratio) else f"bytes, {times(ratio)} as much",
        ))
    return Table(
        (f"Memory ({found.account} account)", "Read energy", "Saved by removing bytes",
         "Saved by removing multiplies, at most", "What matters more"),
        tuple(rows), frozenset({1, 2, 3}),
    )
