"""The report of a study of memories: one page, self-contained, with a table and two figures."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from hw_models.dram import DramSpec
from santa_sim.report.printed import percent, plain, si, times

if TYPE_CHECKING:
    import pandas as pd

MEMORY_COLUMNS = {
    "memory": "string", "title": "string", "bytes_per_activation": "Int64", "status": "string",
    "error": "string", "pieces": "Int64", "activations": "Int64", "pj_per_bit": "float64",
    "low_pj_per_bit": "float64", "high_pj_per_bit": "float64", "closed_form_pj_per_bit": "float64",
    "all_pj_per_bit": "float64", "bytes_per_s": "float64", "share_of_peak": "float64",
}
"""Columns of the result table and their types."""

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#332288", "#882255")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1060px; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: .9rem }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, caption { text-align: left }
caption { font-weight: 600; padding: .5rem 0 }
.note { color: #555 }
"""


def memory_page(
    title: str, question: str, frame: pd.DataFrame, memories: Mapping[str, DramSpec]
) -> str:
    """Return the page; all texts are escaped here. memories: by the name in the table."""
    from plotly.offline import get_plotlyjs

    done = frame[frame["status"] == "ok"]
    figures = [
        _figure(done, "pj_per_bit", "pJ/bit: activation, read and I/O", "energy"),
        _figure(done, "share_of_peak", "share of peak bandwidth", "bandwidth"),
    ]
    sentences = "".join(f"<li>{escape(text)}</li>" for text in memory_sentences(done))
    left = "".join(
        f"<li>{escape(f'{name}: {why}')}</li>"
        for name, why in zip(*(frame.loc[frame["status"] != "ok", c] for c in ("memory", "error")),
                             strict=True)
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; \
style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{_STYLE}</style>
<script>{get_plotlyjs()}</script></head><body>
<h1>{escape(title)}</h1><p>{escape(question)}</p>
<p class="note">Each piece lies in a row of its own, at a random place; all of them wait from the
start, so the memory is the only limit, and the run ends with the channel that has most of them.
Simulated, not measured; energy at the memory device.</p>
<ul>{sentences}</ul>{"".join(figures)}{_table(done)}
{f'<p class="note">Left out:</p><ul class="note">{left}</ul>' if left else ""}
{_sources(memories)}</body></html>
"""


def memory_sentences(done: pd.DataFrame) -> list[str]:
    """Return what the table says of each memory, smallest piece against largest."""
    said = []
    for _, rows in done.groupby("memory", sort=False):
        ascending = rows.sort_values("bytes_per_activation").to_dict("records")
        few, most = ascending[0], ascending[-1]
        said.append(
            f"{few['title']}: {few['bytes_per_activation']} bytes per activation cost "
            f"{plain(few['pj_per_bit'])} pJ/bit, {times(few['pj_per_bit'] / most['pj_per_bit'])} "
            f"the {plain(most['pj_per_bit'])} of {most['bytes_per_activation']}, and reach "
            f"{percent(few['share_of_peak'])} of peak instead of {percent(most['share_of_peak'])}."
        )
    return said


def _figure(done: pd.DataFrame, column: str, title: str, name: str) -> str:
    import plotly.graph_objects as go

    figure = go.Figure()
    for i, (_, rows) in enumerate(done.groupby("memory", sort=False)):
        figure.add_scatter(
            x=rows["bytes_per_activation"].astype(int).tolist(), y=rows[column].tolist(),
            mode="lines+markers", name=escape(str(rows["title"].iloc[0])),
            line={"color": _COLOURS[i % len(_COLOURS)]},
        )
    figure.update_layout(
        height=420, template="plotly_white", margin={"l": 60, "r": 20, "t": 20, "b": 50},
        xaxis={"type": "log", "title": {"text": "bytes used per activation"}, "tickmode": "array",
               "tickvals": sorted({int(b) for b in done["bytes_per_activation"]})},
        yaxis={"title": {"text": title}, "rangemode": "tozero",
               **({"tickformat": ".0%"} if column == "share_of_peak" else {})},
        legend={"orientation": "h", "y": -0.2},
    )
    return str(figure.to_html(full_html=False, include_plotlyjs=False, div_id=name))


def _table(done: pd.DataFrame) -> str:
    header = ("memory", "bytes per activation", "pJ/bit", "from the constants alone",
              "with standby and refresh", "bandwidth", "of peak", "activations per piece")
    rows: list[tuple[str, ...]] = [
        (str(row["title"]), str(row["bytes_per_activation"]),
         f"{plain(row['pj_per_bit'])} [{plain(row['low_pj_per_bit'])}, "
         f"{plain(row['high_pj_per_bit'])}]",
         plain(row["closed_form_pj_per_bit"]), plain(row["all_pj_per_bit"]),
         si(row["bytes_per_s"], "B/s"), percent(row["share_of_peak"]),
         plain(row["activations"] / row["pieces"]))
        for row in done.to_dict("records")
    ]
    return (
        "<table><caption>Energy and bandwidth against bytes used per activation</caption><tr>"
        + "".join(f"<th>{escape(text)}</th>" for text in header) + "</tr>"
        + "".join("<tr>" + "".join(f"<td>{escape(t)}</td>" for t in row) + "</tr>" for row in rows)
        + "</table>"
    )


def _sources(memories: Mapping[str, DramSpec]) -> str:
    """Return the constants behind the energies, with their sources."""
    def line(name: str, constant: Any) -> str:
        return (f"{name} {plain(constant.value)} [{plain(constant.low)}, {plain(constant.high)}] "
                f"{constant.unit} ({constant.confidence}): {constant.source}")

    return "<h2>Sources</h2>" + "".join(
        f"<h3>{escape(memory.name)}</h3><ul>" + "".join(
            f"<li>{escape(line(name, getattr(memory.energy, name)))}</li>"
            for name in ("activation", "read", "io", "precharged", "active", "refresh")
        ) + f"</ul><p class='note'>Timing: {escape(memory.timing.source)}</p>"
        for memory in memories.values()
    )
