import pytest

from hw_models.strict_yaml import SpecError, parse
from santa_sim.study.expand import expand


def expanded(text):
    return [d.data["entry"] for d in expand(parse(text, "s.yaml"), ("methods", 0))]


def test_an_entry_without_blocks_is_itself():
    assert expanded("methods:\n  - {name: dense, tile: 8}") == [{"name": "dense", "tile": 8}]


def test_a_grid_is_every_combination_in_the_order_of_the_file():
    assert expanded("methods:\n  - {name: x, grid: {a: [1, 2], b: [3, 4]}}") == [
        {"name": "x", "a": 1, "b": 3}, {"name": "x", "a": 1, "b": 4},
        {"name": "x", "a": 2, "b": 3}, {"name": "x", "a": 2, "b": 4},
    ]


def test_a_zip_advances_together():
    assert expanded("methods:\n  - {zip: {a: [1, 2], b.c: [3, 4]}, b: {d: 0}}") == [
        {"a": 1, "b": {"c": 3, "d": 0}}, {"a": 2, "b": {"c": 4, "d": 0}},
    ]


def test_a_list_is_one_mapping_per_entry_and_combines_with_a_grid():
    assert expanded("methods:\n  - {list: [{a: 1}, {a: 2, b: 5}], grid: {c: [7, 8]}}") == [
        {"a": 1, "c": 7}, {"a": 2, "b": 5, "c": 7}, {"a": 1, "c": 8}, {"a": 2, "b": 5, "c": 8},
    ]


def test_values_of_a_grid_do_not_share_what_they_hold():
    first, second = expanded("methods:\n  - {scores: {name: y}, grid: {scores.trials: [1, 2]}}")
    assert (first["scores"], second["scores"]) == ({"name": "y", "trials": 1},
                                                  {"name": "y", "trials": 2})


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ("grid: [1]", "must map keys to lists"),
        ("grid: {}", "must map keys to lists"),
        ("grid: {a: 1}", "must be a list of values"),
        ("grid: {a: []}", "must be a list of values"),
        ("zip: {a: [1], b: [1, 2]}", "equally long"),
        ("list: {a: 1}", "must be a list of mappings"),
        ("list: [3]", "must be a mapping"),
        ("a: 1\n    grid: {a: [1, 2]}", "stands beside the block too"),
        ("zip: {a: [1]}\n    grid: {a: [1, 2]}", "is set twice"),
        ("a: 1\n    grid: {a.b: [1]}", "is not a mapping"),
        ("grid: {a: &l [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], b: *l, c: *l, d: *l, e: *l, f: *l, g: *l}",
         "expands to 10,000,000 entries"),
    ],
)
def test_a_malformed_block_is_named_with_its_line(block, words):
    with pytest.raises(SpecError) as caught:
        expanded(f"methods:\n  - name: x\n    {block}")
    (problem,) = caught.value.problems
    assert words in problem.message
    assert problem.file == "s.yaml"
    assert problem.line >= 2
    assert problem.path[:2] == ("methods", 0)
