"""Where every number comes from: constants, notes, provenance, and the study itself."""

from __future__ import annotations

from collections.abc import Iterator

from santa_sim.report.printed import plain
from santa_sim.report.section import Fold, Said, Section, Table
from santa_sim.report.view import View

_HEADER = ("Constant", "Value", "Low", "High", "Unit", "Boundary", "Confidence", "Source")


def sources(view: View) -> Section:
    """Return the section on sources."""
    tables = view.tables
    folds = [Fold(_title(view, name), _constants(view, name)) for name in view.accelerators]
    if tables.provenance:
        folds.append(Fold("How this report was made", Table(
            ("What", "Value"), tuple(_flat(tables.provenance))
        )))
    if tables.study_text:
        folds.append(Fold("The study, as it was resolved", tables.study_text))
    return Section(
        "sources", "How far can these numbers be trusted?", _answer(view),
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
    notes = tuple(view.tables.notes)
    if not notes:
        return (Said("", (said,)),)
    return Said("", (said,)), Said("What to know before trusting a number", notes)


def _title(view: View, name: str) -> str:
    rows = view.tables.constants
    rows = rows[rows["accelerator"] == name]
    return (
        f"{view.accelerators[name]}: {len(rows)} constants, "
        f"{int(rows['unverified'].astype(bool).sum())} unverified"
    )


def _constants(view: View, name: str) -> Table:
    rows = view.tables.constants
    rows = rows[rows["accelerator"] == name]
    marked = [i for i, flag in enumerate(rows["unverified"]) if bool(flag)]
    return Table(
        _HEADER,
        tuple(
            (str(r.path), _number(r.value), _number(r.low), _number(r.high), str(r.unit),
             str(r.boundary).replace("_", " "),
             ("⚠ " if bool(r.unverified) else "") + str(r.confidence), str(r.source))
            for r in rows.itertuples()
        ),
        frozenset({1, 2, 3}), frozenset(marked),
    )


def _number(value: object) -> str:
    number = float(value)  # type: ignore[arg-type]
    if number and not 1e-4 <= abs(number) < 1e7:
        return f"{number:.4g}"
    return plain(number, 4)


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
