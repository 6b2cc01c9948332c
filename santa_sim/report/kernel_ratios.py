"""How much faster than dense our kernels should be on GPUs that nobody measured, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from santa_sim.report.printed import plain, si
from santa_sim.report.section import Fold, Said, Section, Table
from santa_sim.report.view import View

if TYPE_CHECKING:
    import pandas as pd

KERNEL_RATIOS = "kernel_ratios"


def kernel_ratios(view: View) -> Section | None:
    """Return the section; None where the study has no such GPU, or no kernel for it."""
    found = view.tables.more.get(KERNEL_RATIOS)
    if found is None or found.empty:
        return None
    machines = [name for name in view.accelerators if name in set(found["accelerator"])]
    if not machines:
        return None
    return Section(
        name="kernel_ratios",
        title="Kernels by datasheet",
        question="How much faster than dense should our kernels be on GPUs that nobody measured?",
        answer=tuple(_said(view, found[found["accelerator"] == name], name) for name in machines),
        how_to_read="Times from NVIDIA's figures, class figures of its GPUs and the machine code "
        "of our kernels, not the authors' own; nothing was measured on these GPUs. Ranges move "
        "every constant to the end that helps or hurts. Cold: every call finds the L2 without its "
        "data. Warm: it finds what the call before left there, all that fits.",
        folds=tuple(Fold("Times and ratios of all kernels", _table(
            view, found[found["accelerator"] == name]), name) for name in machines),
    )


def _said(view: View, rows: pd.DataFrame, machine: str) -> Said:
    cold = rows[rows["l2"] == "cold"]
    first = cold.iloc[int(cold["dense_over_kernel"].to_numpy().argmax())]
    sentences = [f"The best, {_name(first)}, should take {si(first['kernel_time_s'], 's')}, "
                 f"{_ratio(first)} times less than dense."]
    for _, row in cold[cold["published"].notna()].iterrows():
        sentences += _published(row, rows)
    return Said(view.accelerators[machine], tuple(sentences))


def _published(row: pd.Series, rows: pd.DataFrame) -> list[str]:
    """Say how far a printed ratio is from the predicted one, and what the difference can be."""
    same = (rows["point"] == row["point"]) & (rows["l2"] == "warm")
    warm = rows[same].iloc[0]
    published, predicted = float(row["published"]), float(row["dense_over_kernel"])
    inside = row["ratio_low"] <= published <= row["ratio_high"]
    bytes_alone = row["dense_memory_bytes"] / row["memory_bytes"]
    more = row["dense_time_s"] / published - row["kernel_time_s"]
    said = [
        f"{_name(row)}: published {plain(published, 3)}, predicted {_ratio(row)}, "
        f"{plain(100 * (predicted / published - 1), 2)} % off and "
        f"{'inside' if inside else 'outside'} the range; bytes alone would give "
        f"{plain(bytes_alone, 3)}, and {row['bound']} decides.",
        f"{si(row['kernel_time_s'] - row['memory_s'], 's')} of its {si(row['kernel_time_s'], 's')} "
        f"are not the memory's: launches, their ends and what does not overlap. With dense as "
        f"predicted, the published ratio stands for {si(abs(more), 's')} "
        f"{'more' if more > 0 else 'less'} than that.",
    ]
    if warm["memory_bytes"] < row["memory_bytes"]:
        nearer = "a cold L2" if _nearer(published, predicted, warm) else "a warm one"
        said.append(
            f"If calls follow each other, the L2 keeps its {si(row['memory_bytes'], 'B')} but not "
            f"dense's {si(row['dense_memory_bytes'], 'B')}: then {_ratio(warm)}, and "
            f"{warm['bound']} decides, not the memory. The published ratio is nearer to that of "
            f"{nearer}.")
    return said


def _nearer(published: float, cold: float, warm: pd.Series) -> bool:
    return abs(cold - published) <= abs(float(warm["dense_over_kernel"]) - published)


def _ratio(row: pd.Series) -> str:
    return (f"{plain(row['dense_over_kernel'], 3)} ({plain(row['ratio_low'], 3)} to "
            f"{plain(row['ratio_high'], 3)})")


def _name(row: pd.Series) -> str:
    return f"{row['kernel']} S={row['samples']}"


def _table(view: View, rows: pd.DataFrame) -> Table:
    cases = view.points.drop_duplicates("point").set_index("point")
    return Table(
        ("Context", "Batch", "Kernel", "L2", "Dense", "Kernel", "Range", "Dense / kernel", "Range",
         "Published", "Bytes alone", "What decides"),
        tuple((
            f"{int(cases.loc[row['point'], 'context']):,}",
            str(int(cases.loc[row["point"], "batch"])),
            _name(row), str(row["l2"]), si(row["dense_time_s"], "s"), si(row["kernel_time_s"], "s"),
            f"{si(row['kernel_time_low_s'], 's')} – {si(row['kernel_time_high_s'], 's')}",
            plain(row["dense_over_kernel"], 3),
            f"{plain(row['ratio_low'], 3)} – {plain(row['ratio_high'], 3)}",
            plain(row["published"], 3) if row["published"] == row["published"]
            and row["published"] is not None else "",
            plain(row["dense_memory_bytes"] / row["memory_bytes"], 3) if row["memory_bytes"]
            else "", str(row["bound"]),
        ) for _, row in rows.iterrows()),
        numeric=frozenset({0, 1, 4, 5, 7, 9, 10}),
    )
