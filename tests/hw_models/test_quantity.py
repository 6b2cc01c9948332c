import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from hw_models.quantity import UNVERIFIED, Constant, Interval, PicojoulesPerBit

intervals = st.lists(st.floats(0, 1e12), min_size=3, max_size=3).map(lambda v: Interval(*sorted(v)))


def constant(**changes) -> Constant:
    given_fields = {
        "value": 4.0,
        "low": 3.0,
        "high": 7.0,
        "unit": "pJ/bit",
        "source": "a paper, table 2",
        "confidence": "read in the source text",
    }
    return Constant(**{**given_fields, **changes})


@given(intervals, intervals, st.floats(0, 1e6))
def test_interval_sums_and_scales_end_by_end(a, b, factor):
    assert a + b == Interval(a.low + b.low, a.nominal + b.nominal, a.high + b.high)
    assert a + b == b + a
    assert a * factor == factor * a
    assert (a * factor).nominal == a.nominal * factor


def test_an_exact_interval_has_no_width():
    assert Interval.exact(2.5) == Interval(2.5, 2.5, 2.5)


@pytest.mark.parametrize("ends", [(2, 1, 3), (1, 4, 3), (3, 2, 1)])
def test_interval_ends_must_be_in_order(ends):
    with pytest.raises(ValueError, match="low <= nominal <= high"):
        Interval(*ends)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_interval_refuses_what_is_not_finite(odd):
    with pytest.raises(ValueError, match="finite"):
        Interval(0.0, 1.0, odd)
    with pytest.raises(ValueError, match="finite"):
        Interval.exact(odd)
    with pytest.raises(ValueError, match=r"finite|non-negative"):
        Interval.exact(1.0) * odd


def test_interval_that_overflows_is_an_error_where_it_arises():
    with pytest.raises(ValueError, match="finite"):
        Interval.exact(1e308) + Interval.exact(1e308)


def test_interval_is_not_scaled_by_a_negative_factor():
    with pytest.raises(ValueError, match="non-negative factor, got -1"):
        Interval.exact(1.0) * -1


def test_constant_gives_its_interval():
    assert constant().interval == Interval(3.0, 4.0, 7.0)
    assert constant(value=4, low=4, high=4).interval == Interval.exact(4.0)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"value": -1.0}, "greater than or equal to 0"),
        ({"low": -0.1}, "greater than or equal to 0"),
        ({"value": math.nan}, "finite"),
        ({"high": math.inf}, "finite"),
        ({"value": 8.0}, "low <= value <= high, got low 3.0, value 8.0, high 7.0"),
        ({"low": 5.0}, "low <= value <= high"),
        ({"value": True}, "valid number"),
        ({"value": "4"}, "valid number"),
        ({"unit": ""}, "at least 1 character"),
        ({"source": ""}, "at least 1 character"),
        ({"confidence": "certain"}, "measured here"),
        ({"node_nm": 0}, "greater than 0"),
        ({"colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_constant_refuses(changes, complaint):
    with pytest.raises(ValidationError, match=complaint):
        constant(**changes)


def test_constant_is_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        constant().value = 5.0


def test_a_constant_in_another_unit_is_refused():
    per_bit = TypeAdapter(PicojoulesPerBit)
    assert per_bit.validate_python(constant().model_dump()) == constant()
    with pytest.raises(ValidationError, match="unit must be 'pJ/bit', got 'pJ/byte'"):
        per_bit.validate_python(constant(unit="pJ/byte").model_dump())


def test_unverified_confidences_are_confidences():
    for confidence in UNVERIFIED:
        assert constant(confidence=confidence).confidence == confidence
