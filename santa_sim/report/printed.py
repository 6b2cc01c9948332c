"""How the report prints numbers: three significant digits, SI prefixes, units, intervals."""

from __future__ import annotations

import math

_PREFIXES: tuple[tuple[int, str], ...] = (
    (18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, ""), (-3, "m"), (-6, "µ"),
    (-9, "n"), (-12, "p"), (-15, "f"), (-18, "a"),
)
MISSING = "–"


def plain(value: float, digits: int = 3) -> str:
    """Return a number with `digits` significant digits and no exponent, e.g. `0.0123`, `1,230`."""
    if not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    # rounding may carry into the next power of ten
    exponent = math.floor(math.log10(abs(round(value, digits - 1 - exponent))))
    return f"{round(value, digits - 1 - exponent):,.{max(0, digits - 1 - exponent)}f}"


def si_prefix(value: float) -> tuple[int, str]:
    """Return the exponent and the letter of the SI prefix that suits a value, e.g. (-6, "µ")."""
    if value == 0 or not math.isfinite(value):
        return 0, ""
    size = abs(float(f"{value:.2e}"))
    return next(((e, p) for e, p in _PREFIXES if size >= 10.0**e * (1 - 1e-12)), _PREFIXES[-1])


def si(value: float, unit: str = "") -> str:
    """Return a quantity with an SI prefix, e.g. `134 MB`, `1.20 µJ`; a count has no unit."""
    if not math.isfinite(value):
        return MISSING
    exponent, prefix = si_prefix(value)
    return f"{plain(value / 10.0**exponent)} {prefix}{unit}".rstrip()


def count(value: float) -> str:
    """Return a count: whole below 1000 if it is, e.g. `576`, `4.72 M`."""
    return f"{value:,.0f}" if value < 1000 and value == round(value) else si(value)


def span(nominal: float, low: float, high: float, unit: str) -> str:
    """Return a quantity with its interval in one common prefix, e.g. `1.2 [0.9, 1.6] µJ`."""
    if not math.isfinite(nominal):
        return MISSING
    exponent, prefix = si_prefix(nominal)
    scale = 10.0**exponent
    return (
        f"{plain(nominal / scale)} [{plain(low / scale)}, {plain(high / scale)}] {prefix}{unit}"
    ).rstrip()


def percent(share: float) -> str:
    """Return a share as a percentage, e.g. `5.9 %`; below a millionth it is only bounded."""
    if not math.isfinite(share):
        return MISSING
    if 0 < abs(share) < 1e-6:
        return "< 0.0001 %"
    return f"{plain(100 * share, 2 if abs(share) < 0.1 else 3)} %"


def signed_percent(share: float) -> str:
    """Return a share as a percentage with its sign and two digits, e.g. `+5.9 %`, `−12 %`."""
    return f"{'+' if share > 0 else '−'}{plain(abs(100 * share), 2)} %"


def times(ratio: float) -> str:
    """Return a ratio as `3.2 times`."""
    if not math.isfinite(ratio):
        return MISSING
    return f"{plain(ratio, 2 if abs(ratio) < 100 else 3)} times"


def times_range(ratios: list[float]) -> str:
    """Return one ratio, or the range of several, e.g. `2.1 to 4.0 times`."""
    low, high = times(min(ratios)), times(max(ratios))
    return low if low == high else f"{low.removesuffix(' times')} to {high}"


def compared(ratio: float, other: str, more: str = "more", less: str = "less") -> str:
    """Return a ratio in words: `38 % less than X`, `as much as X`, `4.1 times as much as X`."""
    if not math.isfinite(ratio):
        return MISSING
    if ratio >= 2:
        return f"{times(ratio)} as much as {other}"
    change = round(100 * (ratio - 1), 0 if abs(ratio - 1) >= 0.1 else 1)
    if change == 0:
        return f"as much as {other}"
    return f"{plain(abs(change), 2)} % {more if change > 0 else less} than {other}"


def change(ratio: float, what: str) -> str:
    """Return a ratio before "than": `38 % less energy`, `4.1 times more time`, `no less time`."""
    if not math.isfinite(ratio):
        return MISSING
    if ratio >= 2:
        return f"{times(ratio - 1)} more {what}"
    return compared(ratio, "", f"more {what}", f"less {what}").replace(" than ", "").replace(
        "as much as ", f"no less {what}"
    )


def several(number: int, one: str, many: str) -> str:
    """Return `1 method` or `24 methods`."""
    return f"{number:,} {one if number == 1 else many}"


def listed(texts: list[str]) -> str:
    """Return texts as `a`, `a and b` or `a, b and c`."""
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def grouped(said: dict[str, str]) -> dict[str, str]:
    """Turn place -> text into places -> text, so that an equal text is said once: `A, and on B`."""
    names: dict[str, list[str]] = {}
    for name, text in said.items():
        names.setdefault(text, []).append(name)
    return {", and on ".join(group): text for text, group in names.items()}
