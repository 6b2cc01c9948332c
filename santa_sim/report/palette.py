"""Fixed colours, symbols and order, so that a thing looks the same in every figure.

The colours are the set of Okabe and Ito with two of Tol's, which stay apart under the common colour
vision deficiencies.
"""

from __future__ import annotations

import textwrap
from functools import lru_cache
from html import escape

FAMILY_COLOURS: dict[str, str] = {
    "dense": "#333333",
    "santa_iid": "#56B4E9",
    "santa_stratified": "#009E73",
    "santa_systematic": "#0072B2",
    "s2anta_flash": "#D55E00",
    "s2anta_prop": "#E69F00",
    "s2anta_comb": "#CC79A7",
    "bernoulli_qk": "#882255",
}
FAMILY_SYMBOLS: dict[str, str] = {
    "dense": "square", "santa_iid": "circle", "santa_stratified": "triangle-up",
    "santa_systematic": "diamond", "s2anta_flash": "star", "s2anta_prop": "pentagon",
    "s2anta_comb": "hexagon", "bernoulli_qk": "x",
}
FAMILY_NAMES: dict[str, str] = {
    "s2anta_flash": "s2anta_flash (fixed tile budgets)",
    "s2anta_prop": "s2anta_prop (budgets by mass, biased)",
    "s2anta_comb": "s2anta_comb (one comb)",
}
"""What a family is called in a legend, where its name alone says too little."""
STREAM_COLOURS: dict[str, str] = {
    "K": "#0072B2", "V": "#E69F00", "Q + output": "#009E73", "workspace": "#999999",
}
PHASE_COLOURS: dict[str, str] = {
    "score": "#0072B2", "softmax": "#CC79A7", "sample": "#56B4E9", "value": "#E69F00",
    "merge": "#009E73",
}
PART_COLOURS: dict[str, str] = {
    "main memory read": "#0072B2", "main memory write": "#56B4E9", "row activation": "#332288",
    "buffer": "#009E73", "staging": "#44AA99", "multiply": "#D55E00", "add": "#E69F00",
    "exp": "#CC79A7", "random bits": "#882255", "other arithmetic": "#DDCC77",
    "static": "#999999",
}
OTHER_COLOURS: tuple[str, ...] = (
    "#CC79A7", "#D55E00", "#44AA99", "#882255", "#DDCC77", "#332288", "#56B4E9", "#999999",
)
"""For kinds without a colour of their own, in order."""
FALLBACK = "#777777"


def family(score_stage: str, value_stage: str) -> str:
    """Return the method family that a colour stands for; ternary queries are one of their own."""
    return value_stage if score_stage == "exact" else "bernoulli_qk"


def label(text: str) -> str:
    """Return text that Plotly shows literally: it would read angle brackets as markup."""
    return escape(text, quote=False)


@lru_cache(maxsize=1024)
def method_label(method: str) -> str:
    """Return a method's name broken where its two stages join."""
    return "<br>+ ".join(wrapped(part, 34) for part in method.split(" + "))


def wrapped(text: str, width: int = 26) -> str:
    """Return text broken into lines of about `width` characters."""
    return "<br>".join(label(line) for line in textwrap.wrap(text, width)) or " "
