"""What one section of the report consists of.

To add a section: a module with a function `View -> Section | None` (None where the run has nothing
for it), named in `build.py`; a figure of its own in `page/figure_<name>.js`, which
`page/registry.js` describes, and the tables that this figure reads in `data`. A table of points
has a column `row` that counts in the page's points (`page_data.py`); the filter bar then drives it.
Further tables of the run arrive in `ReportTables.more`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Figure:
    """A figure that follows the filter bar; drawn by `figure("<name>", ...)` of the page's script.

    heading: above the figure, where a section has several.
    """

    name: str
    heading: str = ""


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
class Said:
    """Sentences computed from the tables, and the case and machine that they speak about."""

    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Fold:
    """Something that starts folded: `content` under the line `title`.

    accelerator: shown only where the filter bar leaves this one; empty for always.
    """

    title: str
    content: Table | str | tuple[Said, ...]
    accelerator: str = ""


@dataclass(frozen=True)
class Section:
    """One question with its answer; every text is plain and is escaped when the page is made.

    name: id of the section. title: what the contents call it. question: what it answers.
    answer: what the whole study says to it. figures: what the filter bar drives.
    how_to_read: one line below them. tables: shown after the answer. folds: shown last.
    data: tables for the figures, by name, carried by the page beside those of `page_data.py`.
    """

    name: str
    title: str
    question: str
    answer: tuple[Said, ...] = ()
    figures: tuple[Figure, ...] = ()
    how_to_read: str = ""
    tables: tuple[Table, ...] = ()
    folds: tuple[Fold, ...] = ()
    data: Mapping[str, pd.DataFrame] = field(default_factory=dict)
