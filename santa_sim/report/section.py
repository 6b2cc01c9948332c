"""What one section of the report consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Trace = dict[str, Any]


@dataclass(frozen=True)
class Menu:
    """A drop-down list above a figure; `start` is the entry on show at first."""

    label: str
    options: tuple[str, ...]
    start: int = 0


@dataclass(frozen=True)
class Panel:
    """One state of a figure: what Plotly draws, and what must be said beside it.

    data: traces; layout: Plotly layout; both plain and JSON-able, numbers finite or None.
    note: text below the figure that holds for this state only.
    """

    data: list[Trace]
    layout: dict[str, Any]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure with its menus.

    panels: one entry index per menu, as a tuple of int -> what is shown.
    """

    menus: tuple[Menu, ...]
    panels: Mapping[Any, Panel]


@dataclass(frozen=True)
class Table:
    """A table of texts.

    numeric: columns that are aligned right. marked: rows that stand out. caption: one line above.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()
    caption: str = ""


@dataclass(frozen=True)
class Fold:
    """Something that starts folded: `content` under the line `title`."""

    title: str
    content: Table | str
    open: bool = False


@dataclass(frozen=True)
class Said:
    """Sentences computed from the tables, and the case and machine that they speak about."""

    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """One question with its answer; every text is plain and is escaped when the page is made.

    name: id of the section. question: the heading. answer: what the tables say to it.
    figure: if there is anything to draw. how_to_read: one line below it.
    tables: shown after the answer. folds: shown last.
    """

    name: str
    question: str
    answer: tuple[Said, ...]
    figure: Figure | None = None
    how_to_read: str = ""
    tables: tuple[Table, ...] = ()
    folds: tuple[Fold, ...] = field(default=())
