import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unpack import unpacked

from santa_sim.report.packed import packed

NAN = float("nan")


def through(column, rounded=False):
    name = frozenset({"t"}) if rounded else frozenset()
    return unpacked(packed({"t": pd.DataFrame({"c": column})}, {}, name))[1]["t"]["c"]


@given(st.lists(st.integers(0, 2**53), min_size=1))
def test_whole_numbers_are_exact(values):
    assert through(values) == values


@given(st.lists(st.floats(1e-30, 1e30) | st.just(NAN), min_size=1), st.booleans())
def test_other_numbers_keep_their_bits(values, rounded):
    # float32 keeps 24 significant bits, a rounded column 16; a whole number is never worse
    found = np.array(through([*values, 0.5], rounded)[:-1])
    np.testing.assert_allclose(found, values, rtol=2.0 ** (-16 if rounded else -24))


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_texts_are_what_they_were(values):
    assert through(pd.Series(values, dtype=object)) == values


@pytest.mark.parametrize("value", [1.5e300, 2.5e-300, -1e39])
@pytest.mark.parametrize("rounded", [False, True])
def test_a_number_beyond_float32_keeps_all_its_bits(value, rounded):
    assert through([value, 0.5], rounded) == [value, 0.5]


def test_an_empty_table_stays_empty():
    tables = {"t": pd.DataFrame({"a": pd.array([], dtype="float64"), "b": []})}
    assert unpacked(packed(tables, {"x": 1})) == ({"x": 1}, {"t": {"a": [], "b": []}})
