"""Numbers with their range, unit and source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Confidence = Literal[
    "measured here", "read in the source text", "read in a secondary source", "derived",
    "from memory, unverified", "judgement",
]
"""How a constant is known; the last two are marked in every report."""

UNVERIFIED: frozenset[str] = frozenset({"from memory, unverified", "judgement"})


@dataclass(frozen=True)
class Interval:
    """A nominal value with the range that its constants imply: low <= nominal <= high, finite.

    Sums and scalings of non-negative intervals are done end by end: all terms are taken to be
    at their low, nominal or high together, which is the widest (fully correlated) range.
    """

    low: float
    nominal: float
    high: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.low, self.nominal, self.high))):
            raise ValueError(f"an interval must be finite, got {self}")
        if not self.low <= self.nominal <= self.high:
            raise ValueError(f"an interval needs low <= nominal <= high, got {self}")

    @staticmethod
    def exact(value: float) -> Interval:
        """Return the interval of a number without uncertainty."""
        return Interval(value, value, value)

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            self.low + other.low, self.nominal + other.nominal, self.high + other.high
        )

    def __mul__(self, factor: float) -> Interval:
        if factor < 0:
            raise ValueError(f"an interval is scaled by a non-negative factor, got {factor}")
        return Interval(self.low * factor, self.nominal * factor, self.high * factor)

    __rmul__ = __mul__

    def times(self, other: Interval) -> Interval:
        """Return the product of two non-negative quantities, end by end."""
        if isinstance(other, Intervals):
            return other.times(self)
        if self.low < 0 or other.low < 0:
            raise ValueError(f"only non-negative intervals multiply, got {self} and {other}")
        return Interval(
            self.low * other.low, self.nominal * other.nominal, self.high * other.high
        )

    def over(self, rate: Interval) -> Interval:
        """Return a non-negative quantity divided by a positive rate; a high rate gives the low."""
        if isinstance(rate, Intervals):
            return Intervals(self.low, self.nominal, self.high).over(rate)
        if self.low < 0 or rate.low <= 0:
            raise ValueError(f"needs a quantity >= 0 over a rate > 0, got {self} and {rate}")
        return Interval(self.low / rate.high, self.nominal / rate.nominal, self.high / rate.low)


class Intervals(Interval):
    """Intervals of like quantities on many machines: low, nominal and high are float64 [machines].

    Every operation does to each element what `Interval` does to its one, in the same order, so that
    both give the same bits. Nothing is checked on the way: results that are not finite show it.
    """

    low: Any
    nominal: Any
    high: Any

    def __post_init__(self) -> None:
        """Take any numbers."""

    def __add__(self, other: Interval) -> Intervals:
        return Intervals(
            self.low + other.low, self.nominal + other.nominal, self.high + other.high
        )

    def __radd__(self, other: Interval) -> Intervals:
        return Intervals(
            other.low + self.low, other.nominal + self.nominal, other.high + self.high
        )

    def __mul__(self, factor: float) -> Intervals:
        return Intervals(self.low * factor, self.nominal * factor, self.high * factor)

    __rmul__ = __mul__

    def times(self, other: Interval) -> Intervals:
        """Return the products, end by end."""
        return Intervals(
            self.low * other.low, self.nominal * other.nominal, self.high * other.high
        )

    def over(self, rate: Interval) -> Intervals:
        """Return the quotients; a high rate gives the low."""
        return Intervals(self.low / rate.high, self.nominal / rate.nominal, self.high / rate.low)


Figure = Annotated[float, Field(ge=0, strict=True)]
"""Strict, because pydantic would otherwise read `true` as 1.0."""


class Constant(BaseModel):
    """A catalogue number: value, range, unit, and where it comes from.

    value: the nominal figure, finite and not negative.
    low, high: the range a careful reader should allow; low <= value <= high.
    unit: as printed, for example `pJ/bit`.
    node_nm: process node of the source, where it has one.
    source: citation; facts: ids of rows in `hw_models/facts/energy_facts.csv` behind it.
    confidence: how it is known (`Confidence`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    value: Figure
    low: Figure
    high: Figure
    unit: str = Field(min_length=1)
    node_nm: float | None = Field(default=None, gt=0, strict=True)
    source: str = Field(min_length=1)
    confidence: Confidence
    facts: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"needs low <= value <= high, got low {self.low}, value {self.value}, "
                f"high {self.high}"
            )
        return self

    @property
    def interval(self) -> Interval:
        """The constant as low, nominal, high, in its own unit."""
        return Interval(self.low, self.value, self.high)


def _in_unit(unit: str) -> AfterValidator:
    def check(constant: Constant) -> Constant:
        if constant.unit != unit:
            raise ValueError(f"unit must be '{unit}', got '{constant.unit}'")
        return constant

    return AfterValidator(check)


PicojoulesPerBit = Annotated[Constant, _in_unit("pJ/bit")]
PicojoulesPerOp = Annotated[Constant, _in_unit("pJ/op")]
PicojoulesPerActivation = Annotated[Constant, _in_unit("pJ/activation")]
OpsPerSecond = Annotated[Constant, _in_unit("op/s")]
BytesPerSecond = Annotated[Constant, _in_unit("B/s")]
Watts = Annotated[Constant, _in_unit("W")]
Seconds = Annotated[Constant, _in_unit("s")]
Fraction = Annotated[Constant, _in_unit("1")]
