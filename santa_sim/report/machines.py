"""What the tables say about the machines: multipliers, twins, and the price of a bit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from santa_sim.report.view import View

_MEMORY = re.compile(
    r"(?<![a-z])(LPDDR\d?X?|GDDR\d?X?|HBM\d?[EP]?|DDR\d?|MRAM|RRAM|SRAM)", re.IGNORECASE
)


@dataclass(frozen=True)
class BitPrice:
    """Energy of reading one bit, in pJ, and whose it is."""

    name: str
    low: float
    nominal: float
    high: float


def has_multiplier(view: View, accelerator: str) -> bool:
    """Return whether any unit of an accelerator multiplies, judged by its constants."""
    rows = view.tables.constants
    paths = rows.loc[rows["accelerator"] == accelerator, "path"].astype(str)
    if paths.str.contains(r"\.ops\.multiply\.").any():
        return True
    operations = view.tables.operations
    fits = view.points.loc[
        (view.points["accelerator"] == accelerator) & view.points["fits"], "point"
    ]
    done = operations[
        (operations["accelerator"] == accelerator) & operations["point"].isin(fits)
    ]
    return bool((done["kind"] == "multiply").any())


def twins(view: View) -> list[tuple[str, str]]:
    """Return the pairs (with multiplier, without) that differ only in arithmetic, by their names.

    `..._bf16_...` and `..._ternary_...` are twins.
    """
    names = list(view.accelerators)
    pairs = [(name.replace("ternary", "bf16"), name) for name in names if "ternary" in name]
    return [(first, second) for first, second in pairs if first in names]


def bit_prices(view: View, account: str = "device") -> list[BitPrice]:
    """Return what reading a bit of main memory or buffer costs in an account, cheapest first.

    Equal prices of several accelerators are one entry.
    """
    rows = view.tables.constants
    found: dict[tuple[float, float, float], list[str]] = {}
    for where, fallback in (("memory", "memory"), ("buffer", "SRAM")):
        path = f"{where}.energy.{account}.read"
        for row in rows[rows["path"] == path].to_dict("records"):
            name = str(row["accelerator"])
            kind = fallback
            if where == "memory":
                texts = (name, view.accelerators.get(name, ""), str(row["source"]))
                found_in = (_MEMORY.search(text.replace("_", " ")) for text in texts)
                match = next((m for m in found_in if m), None)
                kind = match.group(1).upper() if match else f"memory of {name}"
            key = (float(row["low"]), float(row["value"]), float(row["high"]))
            kinds = found.setdefault(key, [])
            if kind not in kinds:
                kinds.append(kind)
    prices = [BitPrice(" = ".join(kinds), *key) for key, kinds in found.items()]
    return sorted(prices, key=lambda p: p.nominal)
