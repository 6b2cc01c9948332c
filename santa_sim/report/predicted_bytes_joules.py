"""How far predicted DRAM bytes and joules of kernels are from counted and metered ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from santa_sim.report.printed import percent, plain, si, signed_percent
from santa_sim.report.section import Fold, Table
from santa_sim.report.view import View

if TYPE_CHECKING:
    import pandas as pd

BYTES, ENERGY = "validation_bytes", "validation_energy"


def bytes_joules_said(view: View, machine: str) -> tuple[str, ...]:
    """Return a sentence on the bytes of whole calls and one on joules; none where none is known."""
    said = []
    counted, metered = _of(view, BYTES, machine), _of(view, ENERGY, machine)
    if counted is not None:
        errors = counted[counted["part"] == "all"]["error"].abs()
        said.append(
            f"DRAM bytes of {len(errors)} calls, as the profiler counted them, are predicted "
            f"within {percent(float(errors.median()))} in the median and "
            f"{percent(float(errors.max()))} at most.")
    if metered is not None:
        errors = metered["error"].abs()
        high = int((metered["error"] > 0).sum())
        left = metered["error_at_measured_time"].abs()
        said.append(
            f"Joules of {len(errors)} calls, repeated for seconds, are off by "
            f"{percent(float(errors.median()))} in the median and {percent(float(errors.max()))} "
            f"at most, {high} of them too high; with the measured time in place of the predicted, "
            f"by {percent(float(left.median()))} and {percent(float(left.max()))}.")
    return tuple(said)


def bytes_joules_folds(view: View, machine: str) -> list[Fold]:
    """Return a table of counted bytes and one of joules, each with signed errors."""
    folds = []
    counted, metered = _of(view, BYTES, machine), _of(view, ENERGY, machine)
    if counted is not None:
        folds.append(Fold("DRAM bytes, predicted and counted", _bytes(counted), machine))
    if metered is not None:
        folds.append(Fold("Joules, predicted and measured", _joules(metered), machine))
    return folds


def _of(view: View, name: str, machine: str) -> pd.DataFrame | None:
    found = view.tables.more.get(name)
    if found is None or found.empty:
        return None
    mine = found[found["accelerator"] == machine]
    return None if mine.empty else mine


def _bytes(rows: pd.DataFrame) -> Table:
    return Table(
        ("Call", "Kernel", "Counted", "Predicted", "Error"),
        tuple((
            f"{row['kernel']}, batch {row['batch']}, {row['context']:,} tokens",
            str(row["part"]), f"{plain(row['counted_bytes'] / 1e6, 5)} MB",
            f"{plain(row['predicted_bytes'] / 1e6, 5)} MB", signed_percent(row["error"]),
        ) for _, row in rows.iterrows()),
        numeric=frozenset({2, 3, 4}),
        marked=frozenset(i for i, part in enumerate(rows["part"]) if part == "all"),
        caption="Read and written, caches empty ahead of each kernel, as under the profiler. "
        "Marked: whole calls.",
    )


def _joules(rows: pd.DataFrame) -> Table:
    order = rows["error"].abs().sort_values(ascending=False, kind="stable").index
    return Table(
        ("Call", "Samples", "Measured", "Predicted", "Error", "Error at measured time",
         "Board, measured", "Board, predicted"),
        tuple((
            f"{row['kernel']}, batch {row['batch']}, {row['context']:,} tokens, "
            f"d = {row['head_dim']}, {row['dtype']}",
            str(row["samples"] or ""), si(row["measured_j"], "J"), si(row["predicted_j"], "J"),
            signed_percent(row["error"]), signed_percent(row["error_at_measured_time"]),
            si(row["measured_w"], "W"), si(row["predicted_w"], "W"),
        ) for _, row in rows.loc[order].iterrows()),
        numeric=frozenset(range(1, 8)),
        caption="Per call, idle board included, largest error first. At the measured time and "
        "clock, what is left of the error is that of the energies alone.",
    )
