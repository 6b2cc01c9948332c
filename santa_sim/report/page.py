"""From sections to one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from santa_sim.report.script import page_script
from santa_sim.report.section import Figure, Fold, Said, Section, Table

_BEFORE_UNIT = re.compile(r"(?<=[\d\]]) (?=(?:%|[EPTGMkmµnpf]?[BJs]\b|pJ/bit|[GMk]\b))")
_OPEN = 4
"""Sentences of a section that stand open; more of them start folded."""


def page(
    title: str, lead: str, byline: str, sections: Sequence[Section], data: str, *,
    live: bool = False,
) -> str:
    """Return the page; all texts are escaped here and nowhere else.

    data: what the figures read, as `packed.packed` makes it. live: whether it may ask the server
    that it comes from for more.
    """
    from plotly.offline import get_plotlyjs

    style = files("santa_sim.report").joinpath("page", "page.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{escape(s.name)}">{escape(s.title)}</a>' for s in sections)
    body = "\n".join(map(_section, sections))
    asking = "; connect-src 'self'" if live else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'{asking}">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{style}</style>
<script>{get_plotlyjs()}</script>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
<p class="note">{escape(byline)}</p>
<noscript><p class="note">The figures need JavaScript; the sentences do not.</p></noscript>
<p class="note" id="problem" role="alert"></p>
<nav aria-label="sections">{links}</nav>
</header>
{_BAR}
<main>
{body}
</main>
<script type="application/gzip" id="data">{data}</script>
<script>{page_script()}</script>
</body>
</html>
"""


_BAR = """<div class="bar" role="region" aria-label="filters">
<details id="bar" open><summary>Filters: <span id="count" role="status"></span></summary>
<div id="filters"></div>
<div class="actions"><button type="button" id="reset">Reset</button>
<button type="button" id="unpick" hidden>Let picked points go</button>
<button type="button" id="link">Copy link</button>
<button type="button" id="csv">Download CSV</button>
<button type="button" id="theme">Dark or light</button>
<span id="linked" role="status"></span></div>
</details></div>"""


def _section(section: Section) -> str:
    sentences = sum(len(said.sentences) for said in section.answer)
    answer = "".join(map(_said, section.answer))
    if section.name != "summary" and section.figures and sentences > _OPEN:
        answer = _details("What the whole study says", answer)
    name = escape(section.name)
    parts = [
        f'<h2 id="{name}-title" tabindex="-1"><span>{escape(section.title)}</span> '
        f"{escape(section.question)}</h2>",
        *map(_figure, section.figures),
        f'<p class="how">{escape(section.how_to_read)}</p>' if section.how_to_read else "",
        answer,
        *map(_table, section.tables),
        *map(_fold, section.folds),
    ]
    return f'<section id="{name}" aria-labelledby="{name}-title">{"".join(parts)}</section>'


def _figure(figure: Figure) -> str:
    heading = f"<h3>{escape(figure.heading)}</h3>" if figure.heading else ""
    return f'{heading}<div class="figure" data-figure="{escape(figure.name)}"></div>'


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
    caption = f'<p class="caption">{escape(table.caption)}</p>' if table.caption else ""
    named = escape(table.caption or "table")
    return (
        f'{caption}<div class="scroll" tabindex="0" role="group" aria-label="{named}">'
        f"<table>{head}<tbody>{rows}</tbody></table></div>"
    )


def _fold(fold: Fold) -> str:
    if isinstance(fold.content, Table):
        content = _table(fold.content)
    elif isinstance(fold.content, str):
        content = f'<pre tabindex="0">{escape(fold.content)}</pre>'
    else:
        content = "".join(map(_said, fold.content))
    return _details(fold.title, content, fold.accelerator)


def _details(title: str, content: str, accelerator: str = "") -> str:
    which = f' data-accelerator="{escape(accelerator)}"' if accelerator else ""
    return f"<details{which}><summary>{escape(title)}</summary>{content}</details>"
