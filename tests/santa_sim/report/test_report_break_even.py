from dataclasses import replace

import pytest
from made_up_study import (
    DATA,
    HEAD_DIM,
    HIGH,
    KV_HEADS,
    LOW,
    MACHINES,
    PJ_PER_OP,
    QO_HEADS,
    ROW_BYTES,
    Method,
    make_tables,
)

from hw_models.energy import _OP_PARTS, OTHER_ARITHMETIC
from santa_sim.report.break_even import (
    ARITHMETIC,
    BreakEven,
    break_even,
    machines_with_multiplier,
)
from santa_sim.report.break_even_section import break_even_section, break_even_sentences
from santa_sim.report.machines import bit_prices, has_multiplier, twins
from santa_sim.report.view import View

SAMPLES, TRIALS = 64, 4
METHODS = (Method("dense"), Method("s2anta_comb", SAMPLES), Method("s2anta_comb", SAMPLES, TRIALS))
BF16, TERNARY = "edge_bf16_7nm_lpddr5", "edge_ternary_7nm_lpddr5"


def only_case(**changes) -> tuple[View, BreakEven]:
    view = View(make_tables(**{"data": DATA[2:3], "methods": METHODS, **changes}))
    found = break_even(view, view.cases[0], BF16)
    assert isinstance(found, BreakEven)
    return view, found


def test_arithmetic_is_every_part_that_an_accelerator_charges_for_operations():
    assert set(ARITHMETIC) == {*_OP_PARTS.values(), OTHER_ARITHMETIC}


def test_both_savings_are_those_counted_by_hand():
    _, found = only_case()
    n = DATA[2].context
    products = 2 * n * QO_HEADS * HEAD_DIM  # score and value
    assert found.multiplies_j.nominal == pytest.approx(products * PJ_PER_OP["multiply"] * 1e-12)
    assert found.bytes_saved == (n - 3 * SAMPLES) * KV_HEADS * ROW_BYTES


def test_at_the_break_even_both_savings_are_equal():
    _, found = only_case()
    crossing = found.crossing_pj_per_bit()
    assert found.bytes_j(crossing.nominal) == pytest.approx(found.multiplies_j.nominal)
    assert found.bytes_j(crossing.low) == pytest.approx(found.multiplies_j.low)
    assert found.bytes_j(crossing.high) == pytest.approx(found.multiplies_j.high)
    assert crossing.low == pytest.approx(LOW * crossing.nominal)
    assert crossing.high == pytest.approx(HIGH * crossing.nominal)


def test_what_replaces_the_multiplies_is_paid_for():
    _, found = only_case()
    n = DATA[2].context
    pairs = n * QO_HEADS * HEAD_DIM
    price = {k: v * 1e-12 for k, v in PJ_PER_OP.items()}
    shared = n * QO_HEADS * (price["exp"] + price["add"])
    dense = shared + 2 * pairs * (price["multiply"] + price["add"]) + QO_HEADS * HEAD_DIM * price[
        "divide"]
    joint = (
        shared + pairs * TRIALS // 4 * price["add"] + SAMPLES * QO_HEADS * HEAD_DIM * price["add"]
        + (TRIALS * HEAD_DIM + 1) * 24 * QO_HEADS * price["random_bits"]
        + (n * QO_HEADS + QO_HEADS * HEAD_DIM) * price["shift"]
    )
    assert found.arithmetic_j.nominal == pytest.approx(dense - joint)
    assert found.arithmetic_j.nominal < found.multiplies_j.nominal + pairs * price["add"]


def test_a_replacement_that_costs_more_than_it_saves_has_no_break_even():
    many = (*METHODS[:2], Method("s2anta_comb", SAMPLES, 256))
    view, found = only_case(methods=many)
    assert found.arithmetic_j.nominal < 0
    assert found.net_crossing_pj_per_bit() is None
    assert "no break-even" in break_even_sentences(view, found)[-1]


def test_a_method_that_saves_no_bytes_has_no_break_even():
    everything = (METHODS[0], Method("s2anta_comb", 8192))
    view, found = only_case(methods=everything)
    assert found.bytes_saved == 0
    assert found.crossing_pj_per_bit() is None
    assert "no break-even" in " ".join(break_even_sentences(view, found))


def test_a_range_around_zero_is_called_no_difference():
    view, found = only_case()
    around = replace(found, arithmetic_j=replace(found.arithmetic_j, low=-1e-9))
    assert "no difference" in break_even_sentences(view, around)[-1]


def test_without_a_twin_only_the_ceiling_is_known():
    view, found = only_case(machines=MACHINES[:1])
    assert found.arithmetic_j is None
    assert found.crossing_pj_per_bit() is not None
    assert len(break_even_sentences(view, found)) == 2


@pytest.mark.parametrize(("methods", "reason"), [
    (METHODS[1:], "Dense attention was not run"), (METHODS[:1], "No sampled method"),
])
def test_what_cannot_be_compared_is_said(methods, reason):
    view = View(make_tables(data=DATA[2:3], methods=methods))
    assert reason in break_even(view, view.cases[0], BF16)


def test_a_study_without_multipliers_has_nothing_to_remove():
    view = View(make_tables(machines=MACHINES[1:2]))
    assert machines_with_multiplier(view) == []
    section = break_even_section(view)
    assert section.figures == ()
    assert "none to remove" in section.answer[0].sentences[0]


def test_multipliers_are_found_in_constants_and_in_work_done():
    view = View(make_tables())
    assert [has_multiplier(view, m.name) for m in MACHINES] == [True, False, True]
    tables = make_tables()
    bare = View(replace(tables, constants=tables.constants.iloc[:0]))
    assert [has_multiplier(bare, m.name) for m in MACHINES] == [True, False, True]


def test_twins_differ_in_their_arithmetic_alone():
    assert twins(View(make_tables())) == [(BF16, TERNARY)]


def test_equal_prices_of_memory_are_named_once():
    prices = bit_prices(View(make_tables()))
    assert [(p.name, p.nominal) for p in prices] == [("SRAM", 0.1), ("LPDDR5", 4.0), ("HBM3", 5.0)]
