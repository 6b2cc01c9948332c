"""Where every number comes from: constants, notes, provenance, and the study itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from santa_sim.report.printed import span
from santa_sim.report.section import Fold, Said, Section, Table
from santa_sim.report.view import View

_HEADER = ("Constant", "Value [range]", "Boundary", "Confidence", "Source")
_PREFIXABLE = ("op/s", "B/s", "W")


def sources(view: View) -> Section:
    """Return the section on sources."""
    tables = view.tables
    folds = []
    if tables.notes:
        said = (Said("", tuple(tables.notes)),)
        folds.append(Fold("What to know before trusting a number", said))
    folds += [Fold(_title(view, name), _constants(view, name), name) for name in view.accelerators]
    if tables.provenance:
        folds.append(Fold("How this report was made", Table(
            ("What", "Value"),
            tuple(_flat({k: v for k, v in tables.provenance.items() if k != "notes"}))
        )))
    if tables.study_text:
        folds.append(Fold("The study, as it was resolved", tables.study_text))
    return Section(
        "sources", "Provenance and sources", "How far can these numbers be trusted?", _answer(view),
        folds=tuple(folds),
    )


def _answer(view: View) -> tuple[Said, ...]:
    rows = view.tables.constants
    if rows.empty:
        return (Said("", ("No constants were handed over with these results.",)),)
    unverified = int(rows["unverified"].astype(bool).sum())
    said = (
        f"{len(rows)} constants entered these results, each with a range and a source; "
        f"{unverified} of them are judgements or remembered without a check, and marked ⚠."
    )
    return (Said("", (said,)),)


def _title(view: View, name: str) -> str:
    rows = view.tables.constants
    rows = rows[rows["accelerator"] == name]
    return (
        f"{view.accelerators[name]}: {len(rows)} constants, "
        f"{int(rows['unverified'].astype(bool).sum())} unverified"
    )


def _constants(view: View, name: str) -> Table:
    rows = view.tables.constants
    records = rows[rows["accelerator"] == name].to_dict("records")
    return Table(
        _HEADER,
        tuple(
            (str(r["path"]), _value(r), str(r["boundary"]).replace("_", " "),
             ("⚠ " if r["unverified"] else "") + str(r["confidence"]), str(r["source"]))
            for r in records
        ),
        marked=frozenset(i for i, r in enumerate(records) if r["unverified"]),
    )


def _value(row: Mapping[Any, Any]) -> str:
    """Return a constant with its range, e.g. `4 [3.5, 14] pJ/bit`, `512 [300, 600] Gop/s`."""
    ends = float(row["value"]), float(row["low"]), float(row["high"])
    unit = "" if row["unit"] == "1" else str(row["unit"])
    if unit in _PREFIXABLE:
        return span(*ends, unit)
    value, low, high = (f"{v:.4g}" for v in ends)
    return f"{value} [{low}, {high}] {unit}".rstrip()


def _flat(node: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield dotted path and text of every leaf of nested mappings and lists."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, list | tuple) and any(isinstance(v, dict | list) for v in node):
        for i, value in enumerate(node):
            yield from _flat(value, f"{path}[{i}]")
    elif isinstance(node, list | tuple):
        yield path, ", ".join(map(str, node))
    else:
        yield path, str(node)
