from dataclasses import replace

import pytest
from made_up_study import DATA, MACHINES, METHODS, make_tables

from santa_sim.report.selection import (
    anchors,
    cheapest_within_budget,
    dense_row,
    main_accelerator,
    reference_accelerator,
    roles,
    typical,
    within_budget,
)
from santa_sim.report.view import ERROR_BUDGET, View


@pytest.fixture(scope="module")
def view() -> View:
    return View(make_tables())


def test_datasets_of_a_capture_that_share_a_context_are_one_case(view):
    assert [(c.is_capture, c.context, c.datasets) for c in view.cases] == [
        (True, 2048, 2), (True, 8192, 1), (False, 8192, 1), (False, 131072, 1),
    ]


def test_labels_of_cases_differ_and_say_what_is_real(view):
    labels = [c.label for c in view.cases]
    assert len(set(labels)) == len(labels)
    assert [label.split(" ")[0] for label in labels] == ["real", "real", "synthetic", "synthetic"]


def test_every_number_of_a_case_is_the_mean_over_its_datasets(view):
    points = view.tables.points
    case = view.cases[0]
    own = points[(points["context"] == 2048) & (points["accelerator"] == "edge_bf16_7nm_lpddr5")]
    for method, row in view.rows(case, "edge_bf16_7nm_lpddr5").items():
        both = own[own["method"] == method]
        assert len(both) == 2
        for column in ("rel_error", "moved_bytes", "device_energy_j", "time_s"):
            assert row[column] == pytest.approx(both[column].mean(), rel=1e-12)


def test_details_sum_to_the_totals_of_their_points(view):
    joules = view.energy.groupby(["case", "accelerator", "account", "method"])["nominal_j"].sum()
    for (case, machine, account, method), total in joules.items():
        row = view.rows(view.cases[case], machine)[method]
        assert total == pytest.approx(row[f"{account}_energy_j"], rel=1e-9)
    moved = view.streams.groupby(["case", "method"])["moved_bytes"].sum()
    for case in view.cases:
        for method, row in view.rows(case).items():
            # the made-up study moves its workspace in scratch memory, outside `moved_bytes`
            expected = row["moved_bytes"] + row["workspace_bytes"]
            assert moved[case.number, method] == pytest.approx(expected)


def test_a_case_does_not_fit_if_one_of_its_datasets_does_not():
    tables = make_tables()
    points = tables.points.copy()
    one = (points["dataset"] == "tiny t0") & (points["method"] == "dense")
    points.loc[one, "fits"] = False
    view = View(replace(tables, points=points))
    row = view.rows(view.cases[0], "gpu_hbm3")["dense"]
    assert not row["fits"]
    assert row["time_s"] != row["time_s"]  # NaN
    energies = view.energy[view.energy["case"] == 0]
    assert "dense" not in set(energies["method"])


def test_sentences_speak_about_the_longest_real_and_the_longest_made_up_attention(view):
    assert [(c.is_capture, c.context) for c in anchors(view)] == [(True, 8192), (False, 131072)]


def test_the_machine_spoken_about_is_the_edge_part_with_multipliers(view):
    assert main_accelerator(view) == "edge_bf16_7nm_lpddr5"


def test_without_an_edge_part_it_is_what_runs_most():
    other = [replace(m, name=name) for m, name in zip(MACHINES, ("a", "b", "c"), strict=True)]
    # "b" has no multiplier
    assert main_accelerator(View(make_tables(machines=other[1:]))) == "c"


def test_a_machine_that_cannot_run_dense_is_compared_with_its_twin(view):
    case = view.cases[1]
    assert reference_accelerator(view, case, "edge_ternary_7nm_lpddr5") == "edge_bf16_7nm_lpddr5"
    twin = view.rows(case, "edge_bf16_7nm_lpddr5")["dense"]
    assert dense_row(view, case, "edge_ternary_7nm_lpddr5") is twin


def test_without_twin_there_is_nothing_to_compare_with():
    view = View(make_tables(machines=MACHINES[1:]))
    assert dense_row(view, view.cases[0], "edge_ternary_7nm_lpddr5") is None


def test_the_cheapest_method_keeps_the_budget_and_no_other_that_does_is_cheaper(view):
    points = view.tables.points
    own = points[
        (points["dataset"] == "tiny t2") & (points["accelerator"] == "gpu_hbm3") & points["fits"]
        & (points["rel_error_high"] <= ERROR_BUDGET)
    ]
    best = cheapest_within_budget(view, view.cases[1], "gpu_hbm3")
    assert best["method"] in set(own["method"])
    assert best["board_energy_j"] == own["board_energy_j"].min()


@pytest.mark.parametrize(("error", "high", "kept"), [
    (0.08, 0.09, True), (0.08, 0.11, False), (0.08, float("nan"), True),
    (0.11, float("nan"), False), (float("nan"), float("nan"), False),
])
def test_the_budget_is_kept_if_the_whole_interval_keeps_it(error, high, kept):
    assert within_budget({"rel_error": error, "rel_error_high": high}) is kept


def test_each_machine_is_ranked_by_its_widest_account(view):
    assert view.account_of("edge_bf16_7nm_lpddr5") == "device"
    assert view.account_of("gpu_hbm3") == "board"


def test_roles_are_of_their_kind(view):
    chosen = roles(view, view.cases[1])
    assert chosen.dense == "dense"
    rows = view.rows(view.cases[1])
    assert rows[chosen.sampled]["score_stage"] == "exact"
    assert rows[chosen.sampled]["value_stage"] != "dense"
    assert rows[chosen.joint]["score_stage"] != "exact"


def test_one_method_of_every_kind_is_shown_first(view):
    case = view.cases[1]
    shown = typical(view, case)
    kinds = [(r["score_stage"], r["value_stage"]) for r in (view.rows(case)[m] for m in shown)]
    assert sorted(kinds) == sorted({
        ("bernoulli_qk" if m.trials else "exact", m.value) for m in METHODS
    })
    assert shown == [m for m in view.methods(case) if m in shown]


def test_absent_kinds_have_no_role():
    view = View(make_tables(data=DATA[:1], methods=METHODS[:1]))
    assert roles(view, view.cases[0]).present() == {"dense": "dense"}
