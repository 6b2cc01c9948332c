"""The numbers in sentences and tables, recomputed here from the raw tables."""

import re
from dataclasses import replace

import pytest
from made_up_study import DATA, MACHINES, METHODS, Method, make_tables, without_errors

from santa_sim.report.build import report_sections
from santa_sim.report.error_sentences import error_answer, ternary_cost, tile_budget_cost
from santa_sim.report.printed import percent, si, times
from santa_sim.report.view import View

BF16, TERNARY = "edge_bf16_7nm_lpddr5", "edge_ternary_7nm_lpddr5"


def said(section) -> str:
    return " ".join(s for part in section.answer for s in part.sentences)


@pytest.fixture(scope="module")
def tables():
    return make_tables()


@pytest.fixture(scope="module")
def sections(tables):
    return {s.name: s for s in report_sections(View(tables))}


def row(tables, method, machine=BF16, dataset="tiny t2"):
    points = tables.points
    found = points[
        (points["method"] == method) & (points["accelerator"] == machine)
        & (points["dataset"] == dataset)
    ]
    assert len(found) == 1
    return found.iloc[0]


def test_every_section_answers(sections):
    assert list(sections) == [
        "summary", "pareto", "bytes", "operations", "energy", "time", "scaling", "break-even",
        "sources",
    ]
    for section in sections.values():
        assert said(section) or section.figures
        assert section.question.endswith("?")


def test_the_summary_gives_the_share_of_multiplies_in_dense_energy(tables, sections):
    dense = row(tables, "dense")
    energy = tables.energy
    multiply = energy[
        (energy["point"] == dense["point"]) & (energy["accelerator"] == BF16)
        & (energy["part"] == "multiply")
    ]["nominal_j"].sum()
    text = sections["summary"].answer[0].sentences[0]
    assert f"multiplies are {percent(multiply / dense['device_energy_j'])}" in text
    assert f"moves {si(dense['moved_bytes'], 'B')}" in text


def test_the_summary_says_what_the_best_method_saves(tables, sections):
    text = sections["summary"].answer[0].sentences[1]
    method = re.search(r": (.+) \(error", text)[1]
    best, dense = row(tables, method), row(tables, "dense")
    less = round(100 * (1 - best["device_energy_j"] / dense["device_energy_j"]))
    assert f"{less} % less energy" in text
    less = round(100 * (1 - best["moved_bytes"] / dense["moved_bytes"]))
    assert f"{less} % less traffic than dense" in text
    assert percent(best["rel_error"]) in text


def test_the_summary_admits_that_nothing_usable_runs(tables, sections):
    text = said(sections["summary"])
    points = tables.points
    here = points[
        (points["accelerator"] == TERNARY) & (points["dataset"] == "tiny t2") & points["fits"]
    ]
    assert here["rel_error"].min() > 0.1
    assert "nothing is usable" in text
    assert f"none of the {len(here)} methods" in text
    assert percent(here["rel_error"].min()) in text


def test_the_summary_says_when_the_best_method_loses():
    cheap_error = (Method("dense"), Method("s2anta_comb", 1024, 4096))
    tables = make_tables(methods=cheap_error)
    text = said(report_sections(View(tables))[0])
    # 4096 trials on the machine without multipliers: many more additions than dense multiplies
    assert re.search(r"takes [\d.]+ (times|%) more energy", text)


def test_the_operations_section_says_zero_only_where_it_is_zero(tables, sections):
    text = said(sections["operations"])
    operations = tables.operations
    for method in re.findall(r"(\S.*?): no multiplies", text):
        name = method.split(". ")[-1]
        point = row(tables, name, TERNARY)["point"]
        own = operations[
            (operations["point"] == point) & (operations["accelerator"] == TERNARY)
            & (operations["kind"] == "multiply")
        ]
        assert own["count"].sum() == 0
    dense = row(tables, "dense")["multiplies"]
    assert f"dense: {si(dense)} multiplies" in text


def test_misfits_are_named_with_phase_and_count(tables, sections):
    fold = sections["operations"].folds[0]
    points = tables.points
    longest = replace(tables, points=points[points["context"] == 131072])
    named = set()
    for titles, methods, reason, _ in fold.content.rows:
        assert re.search(r"[\d,]+ multiply \(\w+\) in phase \w+", reason)
        for title in titles.split("; "):
            machine = next(m.name for m in MACHINES if m.title == title)
            for method in methods.split("; "):
                counted = row(longest, method, machine, "llama lognormal")
                assert counted["misfit"].endswith(reason)
                named.add((machine, method))
    wrong = points[~points["fits"]]
    assert named == set(zip(wrong["accelerator"], wrong["method"], strict=True))


def test_flash_and_comb_are_compared_at_the_same_samples(tables):
    view = View(tables)
    text = tile_budget_cost(view, view.cases[1])
    flash, comb = (row(tables, f"{v} S=1024 tile=64") for v in ("s2anta_flash", "s2anta_comb"))
    assert percent(flash["rel_error"]) in text
    assert percent(comb["rel_error"]) in text
    assert f"{times(flash['rel_error'] / comb['rel_error'])} as much" in text


def test_ternary_queries_are_compared_with_exact_scores_on_the_same_values(tables):
    view = View(tables)
    text = ternary_cost(view, view.cases[1])
    exact = row(tables, "s2anta_comb S=1024 tile=64")
    assert f"error of {percent(exact['rel_error'])} with exact scores" in text
    for trials in (4, 16, 64):
        noisy = row(tables, f"bernoulli_qk R={trials} 2^k + s2anta_comb S=1024 tile=64")
        assert f"{percent(noisy['rel_error'])} with R = {trials}" in text
    assert f"{times(noisy['rel_error'] / exact['rel_error'])} as much at best" in text


def test_a_difference_inside_the_noise_is_no_difference(tables):
    points = tables.points.copy()
    points["rel_error_low"], points["rel_error_high"] = 0.0, 10.0
    view = View(replace(tables, points=points))
    assert "no difference beyond the noise" in tile_budget_cost(view, view.cases[1])
    assert "no difference beyond the noise" in ternary_cost(view, view.cases[1])


def test_without_output_no_method_is_called_usable(tables):
    sections = {s.name: s for s in report_sections(View(without_errors(tables)))}
    assert "no error" in said(sections["pareto"])
    assert "errors are not known" in said(sections["summary"])


def test_methods_of_one_seed_are_not_called_apart(tables):
    points = tables.points.copy()
    points[["rel_error_low", "rel_error_high"]] = float("nan")
    view = View(replace(tables, points=points))
    assert "for one seed" in " ".join(s for part in error_answer(view) for s in part.sentences)


def test_unverified_constants_are_counted_and_marked(tables, sections):
    unverified = int(tables.constants["unverified"].sum())
    assert unverified > 0
    section = sections["sources"]
    assert f"{unverified} of them" in said(section)
    folds = [f.content for f in section.folds if f.title.endswith("unverified")]
    marked = [table.rows[i] for table in folds for i in table.marked]
    assert len(marked) == unverified
    prices = [cells[1] for table in folds for cells in table.rows if "memory.energy" in cells[0]]
    assert prices[0] == "4 [2, 8] pJ/bit"
    assert all(cells[3].startswith("⚠") for cells in marked)


def test_notes_provenance_and_study_are_shown(sections):
    section = sections["sources"]
    (notes,) = next(f for f in section.folds if f.title.startswith("What to know")).content
    assert notes.sentences == ("Scores are those of a model with 4-bit weights.",)
    made = next(f for f in section.folds if f.title.startswith("How this report"))
    assert ("seeds.count", "8") in made.content.rows
    assert section.folds[-1].content.startswith("name: made_up")


@pytest.mark.parametrize("part", [
    {"methods": METHODS[:1]}, {"machines": MACHINES[:1]}, {"data": DATA[:1]}, {"data": DATA[3:]},
    {"machines": MACHINES[1:2]}, {"machines": MACHINES[2:]},
    {"machines": MACHINES[1:2], "methods": METHODS[:3]}, {"methods": METHODS[-2:]},
])
def test_a_study_with_parts_missing_still_answers(part):
    for tables in (make_tables(**part), without_errors(make_tables(**part))):
        for section in report_sections(View(tables)):
            text = said(section)
            assert text or section.figures
            assert not re.search(r"\bnan\b|\binf\b|None", text.replace("None of", ""))
