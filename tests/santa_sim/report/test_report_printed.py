import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from santa_sim.report import printed

PREFIXES = {"E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "": 0, "m": -3, "µ": -6, "n": -9,
            "p": -12, "f": -15, "a": -18}
# 1e-17 keeps three digits within the smallest prefix
magnitudes = st.floats(min_value=1e-17, max_value=9e20)


def read_back(text: str, unit: str) -> float:
    number, suffix = text.split(" ")
    return float(number.replace(",", "")) * 10.0 ** PREFIXES[suffix.removesuffix(unit)]


@given(magnitudes)
def test_a_printed_quantity_is_within_half_a_unit_of_its_third_digit(value):
    # three significant digits are off by at most 0.5 %, plus rounding of the product here
    assert read_back(printed.si(value, "J"), "J") == pytest.approx(value, rel=0.00501)


@given(magnitudes)
def test_a_printed_quantity_has_one_to_three_digits_before_the_point(value):
    number = printed.si(value, "J").split(" ")[0]
    assert 1 <= len(number.split(".")[0]) <= 3


def test_rounding_up_reaches_the_next_prefix():
    assert printed.si(999.9e-9, "J") == "1.00 µJ"
    assert printed.si(999.4e-9, "J") == "999 nJ"


def test_an_interval_shares_one_prefix():
    assert printed.span(1.2e-6, 0.9e-6, 1600e-6, "J") == "1.20 [0.900, 1,600] µJ"


@pytest.mark.parametrize("show", [
    printed.plain, printed.si, printed.percent, printed.times,
    lambda v: printed.span(v, v, v, "J"), lambda v: printed.compared(v, "dense"),
    lambda v: printed.change(v, "energy"),
])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_a_dash(show, value):
    assert show(value) == printed.MISSING


@pytest.mark.parametrize(("ratio", "text"), [
    (0.616, "38 % less than dense"), (1.0, "as much as dense"), (1.0004, "as much as dense"),
    (1.52, "52 % more than dense"), (0.952, "4.8 % less than dense"),
    (2.0, "2.0 times as much as dense"), (41.3, "41 times as much as dense"),
])
def test_ratios_are_said_in_words(ratio, text):
    assert printed.compared(ratio, "dense") == text


@pytest.mark.parametrize(("ratio", "text"), [
    (0.616, "38 % less energy"), (1.0, "no less energy"), (1.24, "24 % more energy"),
    (4.1, "3.1 times more energy"),
])
def test_changes_are_said_before_than(ratio, text):
    assert printed.change(ratio, "energy") == text


def test_whole_counts_below_a_thousand_stay_whole():
    assert [printed.count(v) for v in (0, 9, 999, 9.5, 4.72e6)] == [
        "0", "9", "999", "9.50", "4.72 M"
    ]


def test_equal_texts_of_several_places_are_said_once():
    assert printed.grouped({"A": "x", "B": "y", "C": "x"}) == {"A, and on C": "x", "B": "y"}
