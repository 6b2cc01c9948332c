"""What one section of the report consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FIGURE_STYLE: dict[str, Any] = {
    "template": "plotly_white",
    "font": {"size": 13, "color": "#222222"},
    "paper_bgcolor": "#ffffff",
    "plot_bgcolor": "#ffffff",
    "hoverlabel": {"align": "left"},
    "autosize": True,
}
"""Layout that every figure shares: a light card, readable in either colour scheme."""


@dataclass(frozen=True)
class Choice:
    """One entry of the menu above a figure: which traces it shows, and changes of the layout."""

    label: str
    shown: list[bool]
    layout: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """One question with its answer.

    name: id of the section; its figure's div is `figure-<name>`.
    question: the heading. answer: sentences computed from the tables, as plain text.
    figure: a Plotly figure, if there is anything to draw, with the first of `choices` on show.
    how_to_read: one line below the figure.
    extra_html: ready HTML (escaped by its author) that follows.
    """

    name: str
    question: str
    answer: tuple[str, ...]
    figure: Any = None
    choices: tuple[Choice, ...] = ()
    how_to_read: str = ""
    extra_html: str = ""
