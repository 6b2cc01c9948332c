"""What all figures share: fonts, margins, the axis of methods, and units that suit the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from santa_sim.report.palette import method_label
from santa_sim.report.printed import si_prefix

GREY = "#666666"
GRID = "#dddddd"
_TOP, _BOTTOM = 12, 56
_ROW_PX = 34

_COUNTS = {0: "", 3: "thousands", 6: "millions"}
LEGEND: dict[str, Any] = {
    "orientation": "h", "x": 0, "xanchor": "left", "xref": "container", "y": 1,
    "yanchor": "top", "yref": "container", "traceorder": "normal",
}
"""Above the plot, over the whole width; the page adds the room that it takes."""


def numbers(values: Iterable[float], scale: float = 1.0) -> list[float | None]:
    """Return values / scale to five significant digits, None where not finite."""
    return [float(f"{v / scale:.5g}") if math.isfinite(v) else None for v in values]


def axis_unit(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Return the power of 1000 that suits the largest value, and the unit with its prefix.

    A count has no unit and gets a word instead of a prefix.
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    exponent, name = si_prefix(largest)
    return 10.0**exponent, f"{name}{unit}" if unit else _COUNTS.get(exponent, f"10^{exponent}")


def base(height: int) -> dict[str, Any]:
    """Return the layout that every figure starts from; height in pixels, without the legend."""
    return {
        "height": height, "autosize": True, "legend": dict(LEGEND),
        "margin": {"l": 10, "r": 20, "t": _TOP, "b": _BOTTOM},
        "font": {"size": 13, "color": "#222222", "family": "system-ui, sans-serif"},
        "paper_bgcolor": "#ffffff", "plot_bgcolor": "#ffffff",
        "hoverlabel": {"align": "left", "font": {"size": 13}},
    }


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return a value axis whose title takes the room that it needs."""
    return {
        "title": {"text": title, "standoff": 8}, "automargin": True, "gridcolor": GRID,
        "zerolinecolor": "#999999", **more,
    }


def method_rows(methods: list[str]) -> dict[str, Any]:
    """Return a layout with one row per method, the first on top."""
    count = len(methods)
    layout = base(_TOP + _BOTTOM + 20 + _ROW_PX * max(count, 2))
    layout["yaxis"] = {
        "tickmode": "array", "tickvals": list(range(count)),
        "ticktext": [method_label(m) for m in methods], "range": [count - 0.4, -0.6],
        "automargin": True, "showgrid": False, "zeroline": False, "tickfont": {"size": 12},
    }
    return layout
