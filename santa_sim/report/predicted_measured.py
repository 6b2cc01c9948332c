"""How far the models of a measured GPU are from real attention kernels, and what they predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from santa_sim.report.predicted_bytes_joules import bytes_joules_folds, bytes_joules_said
from santa_sim.report.printed import percent, plain, si, signed_percent
from santa_sim.report.section import Figure, Fold, Said, Section, Table
from santa_sim.report.selection import anchors
from santa_sim.report.view import View

if TYPE_CHECKING:
    import pandas as pd

VALIDATION, KERNEL_TIMES, FITTED_PARTS = "validation", "kernel_times", "fitted_parts"
WORST = 8
_COLUMNS = ("accelerator", "kernel", "batch", "context", "head_dim", "dtype", "kv_layout",
            "inputs", "samples", "l2", "measured_s", "low_s", "high_s", "predicted_s", "error",
            "noise", "bound")


def predicted_measured(view: View) -> Section | None:
    """Return the section; None where no accelerator of the study was measured."""
    found = view.tables.more.get(VALIDATION)
    if found is None or found.empty:
        return None
    machines = [name for name in view.accelerators if name in set(found["accelerator"])]
    if not machines:
        return None
    folds = [Fold("Kernel times of this study's points", table, machine)
             for machine in machines if (table := _kernel_times(view, machine)) is not None]
    for machine in machines:
        mine = found[found["accelerator"] == machine]
        folds += [Fold("The worst points", _worst(mine), machine),
                  *bytes_joules_folds(view, machine),
                  Fold("What the parameters were fitted on", _fitted(view, machine), machine)]
    return Section(
        name="measured",
        title="Predicted against measured",
        question="How far are predicted times, bytes and joules from kernels that really ran?",
        answer=tuple(_said(view, found[found["accelerator"] == name], name) for name in machines),
        figures=(
            Figure("parity", "Predicted against measured"),
            Figure("size_error", "Error against size"),
            Figure("error_shares", "How many points are how far off"),
            Figure("term_errors", "Error by the term that decides"),
        ),
        how_to_read="Every point is an attention kernel that ran; none of them was used to fit a "
        "parameter. Those are fitted on microbenchmarks alone, and listed apart. Dashed: the "
        "noise of the measurement, 20th to 80th percentile of its repeats; nothing inside it can "
        "be told from right.",
        folds=tuple(folds),
        data={VALIDATION: found[list(_COLUMNS)]},
    )


def _said(view: View, points: pd.DataFrame, machine: str) -> Said:
    errors = points["error"].abs()
    worst = points.iloc[int(errors.to_numpy().argmax())]
    by_bound = points.assign(size=errors).groupby("bound")["size"]
    medians = by_bound.median()[by_bound.count() >= min(3, len(points))]
    term = str(medians.idxmax())
    apart = errors[points["unseen"]]
    first_seen = (
        f"Some of the model's structure was chosen after looking at such errors; {len(apart)} of "
        "the points, at settings that nobody had looked at before, are off by "
        f"{percent(float(apart.median()))} in the median, {percent(float(apart.quantile(0.9)))} "
        f"for nine in ten and {percent(float(apart.max()))} at most.",
    ) if len(apart) else ()
    inside = int((points["error"].abs() <= points["noise"]).sum())
    kernels = points["kernel"].nunique()
    return Said(view.accelerators[machine], (
        f"{len(points)} held-out points of {kernels} kernels: the predicted time is off by "
        f"{percent(float(errors.median()))} in the median, {percent(float(errors.quantile(0.9)))} "
        f"for nine in ten and {percent(float(errors.max()))} at most ({_name(worst)}).",
        *first_seen,
        f"{inside} of them are within the noise of their measurement, "
        f"±{percent(float(points['noise'].median()))} in the median.",
        f"Least trustworthy is the term {term}, off by "
        f"{percent(float(medians.max()))} in the median.",
        *bytes_joules_said(view, machine),
    ))


def _name(row: pd.Series) -> str:
    return (f"{row['kernel']}, batch {row['batch']}, {row['context']:,} tokens, {row['dtype']}, "
            f"L2 {row['l2']}")


def _worst(points: pd.DataFrame) -> Table:
    order = points["error"].abs().sort_values(ascending=False, kind="stable").index[:WORST]
    rows = points.loc[order]
    return Table(
        ("Kernel", "Samples", "Measured", "Predicted", "Error", "Noise", "What decides"),
        tuple((_name(row), str(row["samples"] or ""), si(row["measured_s"], "s"),
               si(row["predicted_s"], "s"), signed_percent(row["error"]),
               f"±{percent(row['noise'])}", str(row["bound"])) for _, row in rows.iterrows()),
        numeric=frozenset({1, 2, 3, 4, 5}),
    )


def _fitted(view: View, machine: str) -> Table:
    frame = view.tables.more[FITTED_PARTS]
    mine = frame[frame["accelerator"] == machine]
    return Table(
        ("Microbenchmarks", "", "Points", "Median", "90 %", "Largest"),
        tuple((str(row["part"]), str(row["set"]), str(row["n"]), percent(row["median"]),
               percent(row["p90"]), percent(row["max"])) for _, row in mine.iterrows()),
        numeric=frozenset({2, 3, 4, 5}),
        caption="Absolute relative errors. A part's held-out points isolate the same parameters; "
        "parts without fitted points only check.",
    )


def _kernel_times(view: View, machine: str) -> Table | None:
    times = view.tables.more.get(KERNEL_TIMES)
    if times is None or times.empty:
        return None
    case = anchors(view)[0]
    points = view.points[(view.points["case"] == case.number)
                         & (view.points["accelerator"] == machine)]
    mine = times[times["accelerator"] == machine].set_index("point")
    rows = []
    for _, row in points.drop_duplicates("method").iterrows():
        found = mine.loc[row["point"]]
        time = found["kernel_time_s"]
        known = time == time and time is not None
        rows.append((
            str(row["method"]), si(row["time_s"], "s"), si(time, "s") if known else "–",
            plain(time / row["time_s"], 2) if known else "–",
            str(found["kernel_bound"]) if known else str(found["note"]),
        ))
    if all(row[2] == "–" for row in rows):
        return None
    return Table(
        ("Method", "At least (roofline)", "Kernel, predicted", "Kernel / roofline",
         "What decides"),
        tuple(rows), numeric=frozenset({1, 2, 3}),
        caption=f"{case.label}: one call with a cold L2, launches included. A dash: no kernel of "
        "this package runs the method, or nobody compiled it for these shapes.",
    )
