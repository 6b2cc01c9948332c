"""From sections to one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from santa_sim.report.section import Figure, Fold, Said, Section, Table

_BEFORE_UNIT = re.compile(r"(?<=[\d\]]) (?=(?:%|[EPTGMkmµnpf]?[BJs]\b|pJ/bit|[GMk]\b))")


def page(title: str, lead: str, byline: str, sections: Sequence[Section]) -> str:
    """Return the page; all texts are escaped here and nowhere else."""
    from plotly.offline import get_plotlyjs

    own = files("santa_sim.report")
    links = "".join(
        f'<a href="#{escape(s.name)}">{escape(s.question)}</a>' for s in sections
    )
    body = "\n".join(map(_section, sections))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{own.joinpath("page.css").read_text(encoding="utf-8")}</style>
<script>{get_plotlyjs()}</script>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
<p class="note">{escape(byline)}</p>
<noscript><p class="note">The figures need JavaScript; sentences and tables do not.</p></noscript>
<nav>{links}</nav>
{body}
<script>{own.joinpath("page.js").read_text(encoding="utf-8")}</script>
</body>
</html>
"""


def _section(section: Section) -> str:
    parts = [
        f"<h2>{escape(section.question)}</h2>", *map(_said, section.answer),
        *map(_table, section.tables),
        _figure(section.name, section.figure) if section.figure else "",
        f'<p class="how">{escape(section.how_to_read)}</p>' if section.how_to_read else "",
        *map(_fold, section.folds),
    ]
    return f'<section id="{escape(section.name)}">{"".join(parts)}</section>'


def _said(said: Said) -> str:
    about = f'<p class="about">{escape(said.about)}</p>' if said.about else ""
    if len(said.sentences) == 1:
        return f"{about}<p>{_text(said.sentences[0])}</p>"
    return about + _list(said.sentences, "answer")


def _text(text: str) -> str:
    """Return text as HTML in which no line ends between a number and its unit."""
    return escape(_BEFORE_UNIT.sub("\u00a0", text))


def _list(texts: Sequence[str], kind: str) -> str:
    if not texts:
        return ""
    return f'<ul class="{kind}">{"".join(f"<li>{_text(t)}</li>" for t in texts)}</ul>'


def _table(table: Table) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag}{" class=n" if i in table.numeric else ""}>{_text(text)}</{tag}>'
            for i, text in enumerate(row)
        )

    rows = "".join(
        f'<tr{" class=marked" if i in table.marked else ""}>{cells("td", row)}</tr>'
        for i, row in enumerate(table.rows)
    )
    head = f"<thead><tr>{cells('th', table.header)}</tr></thead>"
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return f'<div class="scroll"><table>{caption}{head}<tbody>{rows}</tbody></table></div>'


def _fold(fold: Fold) -> str:
    content = _table(fold.content) if isinstance(fold.content, Table) else (
        f"<pre>{escape(fold.content)}</pre>"
    )
    start = " open" if fold.open else ""
    return f"<details{start}><summary>{escape(fold.title)}</summary>{content}</details>"


def _figure(name: str, figure: Figure) -> str:
    menus = "".join(
        f"<label{' hidden' if len(menu.options) < 2 else ''}>{escape(menu.label)}<select>"
        + "".join(
            f'<option{" selected" if i == menu.start else ""}>{escape(option)}</option>'
            for i, option in enumerate(menu.options)
        ) + "</select></label>"
        for menu in figure.menus
    )
    return (
        f'<div class="figure" id="figure-{escape(name)}"><div class="menus">{menus}</div>'
        f'<div class="plot"></div><p class="note"></p>'
        f'<script type="application/gzip">{_archive(_packed(figure))}</script></div>'
    )


def _packed(figure: Figure) -> dict[str, Any]:
    """Return the panels by their menu entries; equal axes of methods are written once."""
    yaxes: list[Any] = []
    known: dict[str, int] = {}
    panels = {}
    for key, panel in figure.panels.items():
        layout = dict(panel.layout)
        if "ticktext" in layout.get("yaxis", {}):
            text = json.dumps(layout["yaxis"])
            if text not in known:
                known[text] = len(yaxes)
                yaxes.append(layout["yaxis"])
            layout["yaxis"] = known[text]
        panels[",".join(map(str, key))] = {
            "data": panel.data, "layout": layout, "note": panel.note,
        }
    return {"yaxes": yaxes, "panels": panels}


def _archive(value: object) -> str:
    """Return compressed JSON as text that cannot end the element around it.

    The panels of a figure are much alike, so this makes the page several times smaller.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return b64encode(gzip.compress(text.encode("utf-8"), compresslevel=6, mtime=0)).decode("ascii")
