"""Removing multipliers against removing bytes: at which energy per bit of memory they are equal."""

from __future__ import annotations

from dataclasses import dataclass

from santa_sim.report.machines import has_multiplier, twins
from santa_sim.report.selection import cheapest_within_budget, is_dense, roles
from santa_sim.report.view import ZERO, Case, View

BITS, PICO = 8, 1e-12
ARITHMETIC = ("multiply", "add", "exp", "random bits", "other arithmetic")
"""Energy parts that are operations; all others are memory, buffer or idling."""


@dataclass(frozen=True)
class Range:
    """Joules, or pJ/bit, with what the constants' low and high ends give."""

    low: float
    nominal: float
    high: float

    @staticmethod
    def of(ends: tuple[float, float, float]) -> Range:
        """Return the range of values at low, nominal and high constants, in any order."""
        return Range(min(ends), ends[1], max(ends))

    def over(self, divisor: float) -> Range:
        """Return the range divided by a positive number."""
        return Range(self.low / divisor, self.nominal / divisor, self.high / divisor)


@dataclass(frozen=True)
class BreakEven:
    """Two savings over dense attention on a machine with multipliers, per decode step and layer.

    Removing multipliers, with all bytes as they are:
    multiplies_j = E_multiply(dense): a ceiling, as if nothing had to replace the products.
    arithmetic_j = E_arithmetic(dense) − E_arithmetic(joint, on the twin without multipliers),
        E_arithmetic = `ARITHMETIC` parts: what is left of it once the additions, exponentials
        and random bits of ternary queries are paid. None without such a twin or method. It can
        be negative.
    Removing bytes, with all arithmetic as it is: bytes_saved = moved(dense) − moved(sampled), so
    saved(e) = bytes_saved × 8 × e for a memory of e J/bit.

    The break-even e* = saving / (bytes_saved × 8); below it the multipliers weigh more. Its range
    takes all arithmetic constants at their low or high end together, as everywhere in the report.

    case, machine, account: of dense and sampled. sampled, joint: methods; twin: of joint.
    """

    case: Case
    machine: str
    account: str
    sampled: str
    twin: str | None
    joint: str | None
    bytes_saved: float
    multiplies_j: Range
    arithmetic_j: Range | None

    def bytes_j(self, pj_per_bit: float) -> float:
        """Return the joules that the saved bytes would have cost."""
        return self.bytes_saved * BITS * PICO * pj_per_bit

    def crossing_pj_per_bit(self) -> Range | None:
        """Return e* of the ceiling in pJ/bit; None if one of the two saves nothing."""
        return self._crossing(self.multiplies_j)

    def net_crossing_pj_per_bit(self) -> Range | None:
        """Return e* of what is left after paying for the replacement; None as above."""
        return self._crossing(self.arithmetic_j)

    def _crossing(self, saved: Range | None) -> Range | None:
        if saved is None or saved.nominal <= 0 or self.bytes_saved <= 0:
            return None
        return saved.over(self.bytes_saved * BITS * PICO)


def machines_with_multiplier(view: View) -> list[str]:
    """Return the machines on which both savings can be defined: they multiply, and have energies.

    The ones with a twin come first.
    """
    paired = [first for first, _ in twins(view)]
    return [
        name for name in sorted(view.accelerators, key=lambda name: name not in paired)
        if has_multiplier(view, name) and view.accounts[name]
    ]


def break_even(view: View, case: Case, machine: str) -> BreakEven | str:
    """Return the two savings, or one sentence on why they cannot be compared."""
    account = view.accounts[machine][0]
    title = view.accelerators[machine]
    rows = view.rows(case, machine)
    dense = next((r for r in rows.values() if is_dense(r) and r["fits"]), None)
    if dense is None:
        why = f"does not run on {title}" if any(map(is_dense, rows.values())) else "was not run"
        return f"Dense attention {why}, so there is nothing that could be saved."
    sampled = _sampled(view, case, machine)
    if sampled is None:
        return f"No sampled method with exact scores runs on {title}."
    saved = float(dense["moved_bytes"] - rows[sampled]["moved_bytes"])
    name = str(dense["method"])
    multiplies = _energy(view, case, machine, account, name, ("multiply",))
    twin, joint = _replacement(view, case, machine, account)
    net = None
    if twin is not None and joint is not None:
        before = _energy(view, case, machine, account, name, ARITHMETIC)
        after = _energy(view, case, twin, account, joint, ARITHMETIC)
        net = Range.of((before[0] - after[0], before[1] - after[1], before[2] - after[2]))
    return BreakEven(
        case, machine, account, sampled, twin, joint, saved, Range(*multiplies), net
    )


def _sampled(view: View, case: Case, machine: str) -> str | None:
    best = cheapest_within_budget(view, case, machine)
    if best is not None and best["score_stage"] == "exact" and best["value_stage"] != "dense":
        return str(best["method"])
    chosen = roles(view, case).sampled
    rows = view.rows(case, machine)
    return chosen if chosen in rows and rows[chosen]["fits"] else None


def _replacement(
    view: View, case: Case, machine: str, account: str
) -> tuple[str | None, str | None]:
    """Return the twin without multipliers and the method with ternary queries that runs on it."""
    twin = dict(twins(view)).get(machine)
    joint = roles(view, case).joint
    if twin is None or joint is None or account not in view.accounts[twin]:
        return None, None
    rows = view.rows(case, twin)
    return (twin, joint) if joint in rows and rows[joint]["fits"] else (None, None)


def _energy(
    view: View, case: Case, machine: str, account: str, method: str, parts: tuple[str, ...]
) -> tuple[float, float, float]:
    found = [view.parts.get((case.number, machine, account, p, method), ZERO) for p in parts]
    low, nominal, high = (sum(ends) for ends in zip(*found, strict=True))
    return low, nominal, high
