"""What the page carries for its figures: the rows of the filters, and what they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from santa_sim.report.selection import anchors, dense_row, main_accelerator, reference_accelerator
from santa_sim.report.tables import ACCOUNTS
from santa_sim.report.view import ERROR_BUDGET, View

if TYPE_CHECKING:
    import pandas as pd

POINTS = "points"
ROUNDED = frozenset({"energy", "operations", "streams", "busy"})
"""Detail tables, whose numbers are drawn and never exported."""

NUMBERS = (
    "context", "batch", "samples_requested", "samples_effective", "trials", "tile",
    "rel_error", "rel_error_low", "rel_error_high", "unique_row_fraction",
    "k_bytes", "v_bytes", "q_out_bytes", "workspace_bytes", "logical_bytes", "unique_bytes",
    "moved_bytes", "kv_cache_bytes", "multiplies", "adds",
    "time_s", "time_low_s", "time_high_s", "time_no_overlap_s",
    *(f"{account}_energy_{end}" for account in ACCOUNTS for end in ("j", "low_j", "high_j")),
)
_TEXTS = (
    "attention", "case_label", "accelerator", "method", "series", "family", "score_stage",
    "value_stage", "offsets", "misfit", "bound",
)


def page_tables(view: View) -> dict[str, pd.DataFrame]:
    """Return the tables of the page.

    points: one row per case, method and accelerator, means over the datasets of the case; what a
    filter chooses. `series` is the method without its S. `row` of all other tables counts in it.
    """
    points = page_points(view)
    rows = points[["case", "accelerator", "method"]].assign(row=range(len(points)))
    tables = {POINTS: points}
    for name, frame, keys in (
        ("energy", view.energy, [
            "account", "part", "boundary", "constant", "low_j", "nominal_j", "high_j",
        ]),
        ("busy", view.busy, ["resource", "low_s", "nominal_s", "high_s"]),
        ("operations", view.operations, ["phase", "kind", "dtype", "count"]),
        ("streams", view.streams, [
            "tensor", "level", "logical_bytes", "unique_bytes", "moved_bytes", "workspace_bytes",
        ]),
    ):
        on = [c for c in ("case", "accelerator", "method") if c in frame.columns]
        joined = frame.merge(rows, on=on).sort_values("row", kind="stable")
        tables[name] = joined[["row", *keys]]
    constants = view.tables.constants
    return tables | {"constants": constants.assign(unverified=constants["unverified"].astype(int))}


def page_points(view: View) -> pd.DataFrame:
    """Return the rows of the page."""
    means = view.means
    cases = {case.number: case for case in view.cases}
    frame = means[["case", *NUMBERS, "fits"]].assign(
        attention=[cases[n].attention for n in means["case"]],
        case_label=[cases[n].label for n in means["case"]],
        datasets=[cases[n].datasets for n in means["case"]],
        series=[
            series(method, samples)
            for method, samples in zip(means["method"], means["samples_requested"], strict=True)
        ],
        **{name: means[name] for name in _TEXTS if name in means.columns},
    )
    return frame.assign(fits=frame["fits"].astype(int))


def series(method: str, samples: float) -> str:
    """Return the name of a method without its number of samples, e.g. `s2anta_comb tile=64`."""
    if samples != samples:  # NaN: it draws no rows
        return method
    return " ".join(method.replace(f"S={samples:.0f}", "").split())


def page_facts(view: View) -> dict[str, Any]:
    """Return what the page must know besides its tables, and the filters that it starts with."""
    case, machine = anchors(view)[0], main_accelerator(view)
    dense = dense_row(view, case, machine)
    return {
        "study": view.tables.study_name,
        "titles": view.accelerators,
        "accounts": {name: list(accounts) for name, accounts in view.accounts.items()},
        "references": {
            name: reference for name in view.accelerators
            if (reference := reference_accelerator(view, case, name)) not in (None, name)
        },
        "start": {
            "attention": [case.attention], "context": [case.context], "batch": [case.batch],
            "accelerator": [machine], "boundary": view.account_of(machine),
            "budget": ERROR_BUDGET, "baseline": dense["method"] if dense is not None else "",
        },
    }
