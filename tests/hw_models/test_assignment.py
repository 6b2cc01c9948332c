from tiny_accelerator import op, tiny

from hw_models.assignment import UnitWork, assign
from hw_models.ledger import Dtype, Ledger, OpKind, Phase

MULTIPLY = op(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16)
ADD = op(Phase.SCORE, OpKind.ADD)


def assigned(ops):
    work, left = assign(Ledger(ops), tiny().arithmetic)
    return {(item.unit, item.op): item.count for item in work}, left


def test_a_multiply_add_unit_adds_no_more_than_it_multiplies():
    work, left = assigned({MULTIPLY: 100, ADD: 130})
    assert work == {("matrix", MULTIPLY): 100, ("matrix", ADD): 100, ("scalar", ADD): 30}
    assert left == {}


def test_products_of_one_phase_do_not_feed_the_sums_of_another():
    elsewhere = op(Phase.VALUE, OpKind.ADD)
    work, _ = assigned({MULTIPLY: 100, elsewhere: 50})
    assert work == {("matrix", MULTIPLY): 100, ("scalar", elsewhere): 50}


def test_sums_without_products_go_to_the_next_unit():
    assert assigned({ADD: 7}) == ({("scalar", ADD): 7}, {})


def test_a_unit_bound_to_a_phase_serves_no_other():
    inside, outside = op(Phase.SOFTMAX, OpKind.EXP), op(Phase.MERGE, OpKind.EXP)
    assert assigned({inside: 3, outside: 4}) == ({("special", inside): 3}, {outside: 4})


def test_what_no_unit_takes_is_returned_and_nothing_is_lost():
    ops = {
        MULTIPLY: 11, ADD: 20, op(Phase.MERGE, OpKind.DIVIDE): 5,
        op(Phase.SCORE, OpKind.ADD, Dtype.INT32): 6,
    }
    work, left = assign(Ledger(ops), tiny().arithmetic)
    total = dict(left)
    for item in work:
        assert isinstance(item, UnitWork)
        total[item.op] = total.get(item.op, 0) + item.count
    assert total == ops
    assert set(left) == {
        op(Phase.MERGE, OpKind.DIVIDE), op(Phase.SCORE, OpKind.ADD, Dtype.INT32)
    }


def test_sums_in_several_formats_share_the_products_of_their_phase():
    arithmetic = tiny(("add: [fp32]}\n      only", "add: [fp32, bf16]}\n      only")).arithmetic
    narrow = op(Phase.SCORE, OpKind.ADD, Dtype.BF16)
    work, left = assign(Ledger({MULTIPLY: 100, ADD: 80, narrow: 80}), arithmetic)
    taken = [item.count for item in work if item.unit == "matrix" and item.op != MULTIPLY]
    assert sum(taken) == 100
    assert sum(item.count for item in work) + sum(left.values()) == 260
