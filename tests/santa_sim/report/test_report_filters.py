"""The numbers in the browser: every filter, every figure, against the tables."""

import csv
import itertools
import math
import re

import numpy as np
import pytest
from made_up_study import DATA, Data, make_tables
from numpy.testing import assert_allclose
from visit import Visit, view_hash

from santa_sim.report.build import write_report
from santa_sim.report.page_data import page_points
from santa_sim.report.view import View

STUDY = (*DATA, Data("synthetic llama", "llama lognormal", 8192, 0.5, 4))
SINGLE, DETAIL = 2.0**-23, 2.0**-15
"""Relative errors of a number of a point (float32), and of a sum of rounded details."""
FACETS = {
    "attention": ("attention", "synthetic llama lognormal"),
    "context": ("context", 8192), "batch": ("batch", 4), "accelerator": ("accelerator", "gpu_hbm3"),
    "method": ("method", "s2anta_comb S=256 tile=64"), "samples": ("samples_requested", 1024),
}
UNITS = r"\d[\d,.]*(\]|\))?\s?([EPTGMkmµnpfa]?[JsB]\b|%|pJ/bit|[kMG]? ?(operations|tokens))"


@pytest.fixture(scope="module")
def tables():
    return make_tables(data=STUDY)


@pytest.fixture(scope="module")
def points(tables):
    return page_points(View(tables))


@pytest.fixture(scope="module")
def shared(chromium, tables, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(tables, path)
    visit = Visit(chromium, path)
    visit.path = path
    yield visit
    visit.close()


@pytest.fixture
def visit(shared):
    shared.reset()
    yield shared
    assert shared.complaints == []


def at_start(points):
    return points[
        (points["attention"] == "real tiny") & (points["context"] == 8192) & (points["batch"] == 1)
        & (points["accelerator"] == "edge_bf16_7nm_lpddr5")
    ]


def sums(traces, kind="bar"):
    """Return row -> sum over stacked bars."""
    found = {}
    for trace in traces:
        if trace["type"] == kind:
            for row, x in zip(trace["rows"], trace["x"], strict=True):
                found[row] = found.get(row, 0.0) + (x or 0.0)
    return found


def assert_bars(visit, figure, wanted, rtol):
    found = sums(visit.drawn(figure))
    wanted = wanted.dropna()
    wanted = wanted[wanted > 0]
    if len(visit.rows()) <= 28:
        assert {row for row, x in found.items() if x > 0} == set(wanted.index)
    shown = [row for row, x in found.items() if x > 0]
    assert_allclose([found[row] for row in shown], wanted.loc[shown], rtol=rtol)


def details(tables, points, table, column, **which):
    """Return the sum of a detail per row of points, from the raw tables by brute force."""
    raw = getattr(tables, table)
    for name, value in which.items():
        raw = raw[raw[name] == value]
    what = ["attention", "context", "batch", "method", "accelerator"]
    keys = ["point", "accelerator"] if "accelerator" in raw.columns else ["point"]
    own = named(tables)[["point", *what]]
    total = own.merge(raw.groupby(keys)[column].sum().reset_index(), on=keys, how="left")
    total = total.groupby(what)[column].mean().reset_index()
    return points[what].merge(total, how="left")[column]


def named(tables):
    """Add the page's name of the attention to the raw points."""
    names = {"capture tiny": "real tiny", "synthetic llama": "synthetic llama lognormal"}
    return tables.points.assign(attention=tables.points["source"].map(names))


def front_of(rows, cost):
    """Return the rows that no other of the same case and machine beats, by brute force."""
    kept = set()
    for _, group in rows.groupby(["case", "accelerator"]):
        known = group[group[cost].notna() & group["rel_error"].notna()]
        values = [(c, max(e, 1e-5)) for c, e in
                  zip(known[cost], known["rel_error"], strict=True)]
        for i, (c, e) in enumerate(values):
            beaten = any(
                oc <= c and oe <= e and (oc < c or oe < e) for oc, oe in values
            )
            if not beaten:
                kept.add(known.index[i])
    return kept


def check_everything(visit, tables, points, wanted, account="board"):
    """Compare every figure with the tables, for the points that the filter should leave."""
    assert sorted(visit.rows()) == sorted(wanted.index)
    energy = wanted[f"{account}_energy_j"]
    assert_bars(visit, "energy", energy, DETAIL)
    assert_bars(visit, "time", wanted["time_s"], SINGLE)
    moved = details(tables, points, "streams", "moved_bytes")
    assert_bars(visit, "bytes", moved.loc[wanted.index], DETAIL)
    multiplies = details(tables, points, "operations", "count", kind="multiply")
    assert_bars(visit, "operations", multiplies.loc[wanted.index], DETAIL)
    check_pareto(visit, wanted, f"{account}_energy_j")
    check_summary(visit, points, wanted, account)
    assert f"{len(wanted)} point" in visit.sentence("points")


def check_pareto(visit, wanted, cost):
    known = wanted[wanted[cost].notna()]
    markers = [t for t in visit.drawn("pareto") if t["mode"] == "markers" and not t["skip"]]
    drawn = [(row, x, y) for t in markers for row, x, y in
             zip(t["rows"], t["x"], t["y"], strict=True)]
    assert sorted(row for row, _, _ in drawn) == sorted(known.index)
    for row, x, y in drawn:
        assert x == pytest.approx(known[cost][row], rel=SINGLE)
        if known["rel_error"][row] >= 1e-5:
            assert y == pytest.approx(known["rel_error"][row], rel=SINGLE)
        assert row in front_of(known, cost) or markers[0]["name"] == "dominated"
    grey = {row for t in markers if t["name"] == "dominated" for row in t["rows"]}
    assert grey == set(known.index) - front_of(known, cost)


def check_summary(visit, points, wanted, account):
    """The best of every accelerator, whatever the filter of accelerators says."""
    state = visit.page.evaluate("report.state")
    rows = points
    for facet, (column, _) in FACETS.items():
        if facet != "accelerator" and state[facet] is not None:
            texts = rows[column].map(
                lambda v: v if isinstance(v, str) else "none" if math.isnan(v) else f"{v:.0f}")
            rows = rows[texts.isin(state[facet])]
    cells = visit.cells("summary")
    groups = [g for _, g in rows.groupby(["case", "accelerator"], sort=False)]
    assert len(cells) == min(len(groups), 60)
    methods = 2 if rows["case"].nunique() > 1 else 1
    best = []
    for group in groups:
        usable = group[(group["rel_error_high"] <= 0.1) & group[f"{account}_energy_j"].notna()]
        best.append(
            usable.loc[usable[f"{account}_energy_j"].idxmin()]["method"] if len(usable) else None
        )
    assert sorted(cell[methods] for cell in cells if not cell[methods].startswith("none")) == \
        sorted(m for m in best if m)


def test_the_page_starts_with_what_its_sentences_speak_about(visit, tables, points):
    check_everything(visit, tables, points, at_start(points), "device")


@pytest.mark.parametrize("facet", FACETS)
def test_every_filter_drives_every_figure(visit, tables, points, facet):
    visit.set(**dict.fromkeys(FACETS), boundary="board")
    column, value = FACETS[facet]
    visit.only(facet, value)
    check_everything(visit, tables, points, points[points[column] == value])
    visit.all(facet)
    assert len(visit.rows()) == len(points)


def test_filters_join(visit, tables, points):
    visit.set(**dict.fromkeys(FACETS))
    for facet, value in (("accelerator", "gpu_hbm3"), ("context", 8192), ("samples", "none")):
        visit.only(facet, value)
    wanted = points[(points["accelerator"] == "gpu_hbm3") & (points["context"] == 8192)
                    & points["samples_requested"].isna()]
    assert len(wanted) == 3
    check_everything(visit, tables, points, wanted, "device")


def test_the_boundary_chooses_the_account(visit, tables, points):
    visit.only("accelerator", "gpu_hbm3")
    wanted = points[(points["accelerator"] == "gpu_hbm3") & (points["attention"] == "real tiny")
                    & (points["context"] == 8192)]
    for account in ("board", "device"):
        visit.menu("boundary", account)
        check_everything(visit, tables, points, wanted, account)


def test_an_account_that_is_not_there_is_said_and_not_drawn(visit):
    visit.menu("boundary", "board")
    assert "no board account" in visit.notes("energy")
    assert visit.drawn("energy") == []


@pytest.mark.parametrize(("cost", "column"), [
    ("time", "time_s"), ("bytes", "moved_bytes"), ("energy", "device_energy_j"),
])
def test_error_is_shown_against_each_cost(visit, points, cost, column):
    visit.menu("cost", cost)
    wanted = at_start(points)
    check_pareto(visit, wanted[wanted["fits"] == 1], column)


def test_shares_are_of_the_baseline(visit, points):
    visit.menu("values", "relative")
    wanted = at_start(points)
    base = wanted[wanted["method"] == "dense"].iloc[0]
    found = sums(visit.drawn("energy"))
    for row, share in found.items():
        assert share == pytest.approx(
            wanted["device_energy_j"][row] / base["device_energy_j"], rel=DETAIL)
    visit.menu("baseline", "s2anta_comb S=64 tile=64")
    base = wanted[wanted["method"] == "s2anta_comb S=64 tile=64"].iloc[0]
    found = sums(visit.drawn("time"))
    for row, share in found.items():
        assert share == pytest.approx(wanted["time_s"][row] / base["time_s"], rel=2 * SINGLE)


def test_a_machine_without_dense_is_compared_with_its_twin(visit, points):
    visit.only("accelerator", "edge_ternary_7nm_lpddr5")
    visit.menu("values", "relative")
    base = at_start(points).set_index("method").loc["dense"]
    found = sums(visit.drawn("energy"))
    shown = {row: share for row, share in found.items() if share > 0}
    assert shown
    for row, share in shown.items():
        assert share == pytest.approx(
            points["device_energy_j"][row] / base["device_energy_j"], rel=DETAIL)


def test_logarithmic_axes_show_parts_as_dots_of_the_same_values(visit, points):
    visit.menu("scale", "log")
    found = {}
    for trace in visit.drawn("energy"):
        if trace["ends"] is None:
            assert trace["type"] == "scatter"
            for row, x in zip(trace["rows"], trace["x"], strict=True):
                found[row] = found.get(row, 0.0) + (x or 0.0)
    wanted = at_start(points)["device_energy_j"]
    assert_allclose([found[row] for row in wanted.index], wanted, rtol=DETAIL)


def test_intervals_are_those_of_the_table(visit, points):
    wanted = at_start(points)
    (total,) = (t for t in visit.drawn("energy") if t["ends"])
    for row, x, minus, plus in zip(total["rows"], total["x"], *total["ends"], strict=True):
        assert x - minus == pytest.approx(wanted["device_energy_low_j"][row], rel=1e-5)
        assert x + plus == pytest.approx(wanted["device_energy_high_j"][row], rel=1e-5)


@pytest.mark.parametrize(("along", "facet", "column"), [
    ("context", "context", "context"), ("batch", "batch", "batch"),
    ("samples", "samples", "samples_requested"),
])
def test_scaling_shows_all_values_of_its_own_axis(visit, points, along, facet, column):
    visit.set(attention=["synthetic llama lognormal"], context=["8192"], batch=["1"], samples=None)
    visit.menu("along", along)
    others = {"context": 8192, "batch": 1}
    others.pop(along, None)
    rows = points[(points["attention"] == "synthetic llama lognormal")
                  & (points["accelerator"] == "edge_bf16_7nm_lpddr5")]
    for name, value in others.items():
        rows = rows[rows[name] == value]
    lines = [t for t in visit.drawn("scaling") if "lines" in t["mode"]]
    assert lines
    for line in lines:
        for row, x, y in zip(line["rows"], line["x"], line["y"], strict=True):
            assert row in rows.index
            assert y == pytest.approx(rows["device_energy_j"][row], rel=SINGLE)
            if "markers" in line["mode"]:
                assert x == rows[column][row]
    seen = {row for line in lines for row in line["rows"]}
    assert len({rows[column][row] for row in seen if not math.isnan(rows[column][row])}) > 1


def test_a_crossover_is_where_both_lines_have_the_same_value(visit, points):
    visit.set(samples=None, method=None, context=["8192"], attention=["real tiny"])
    visit.menu("measure", "time")
    marks = [t for t in visit.drawn("scaling") if t["name"].startswith("crosses")]
    lines = {t["name"]: t for t in visit.drawn("scaling") if "lines" in t["mode"]}
    base = lines["dense"]

    def at(line, x):
        return math.exp(np.interp(math.log(x), np.log(line["x"]), np.log(line["y"])))

    wanted = set()
    for name, line in lines.items():
        signs = [a - b for a, b in zip(line["y"], base["y"], strict=True)]
        wanted |= {name for a, b in itertools.pairwise(signs) if a * b < 0}
    found = set()
    for trace in marks:
        for x, y, text in zip(trace["x"], trace["y"], trace["hover"], strict=True):
            name = text.replace("<br>", " ").split(" has ")[0]
            found.add(name)
            assert at(lines[name], x) == pytest.approx(y, rel=1e-6)
            assert at(base, x) == pytest.approx(y, rel=1e-6)
    assert found == wanted


def test_picked_points_are_the_bars_of_the_other_figures(visit, points):
    front = front_of(at_start(points), "device_energy_j")
    # one that no other hides
    alone = at_start(points).drop_duplicates(["device_energy_j", "rel_error"], keep=False)
    row = sorted(front & set(alone.index))[0]
    place = visit.page.evaluate("""(row) => {
      const plot = document.querySelector('[data-figure="pareto"] .plot');
      plot.scrollIntoView({block: "center"});
      const box = plot.querySelector(".nsewdrag").getBoundingClientRect();
      const {xaxis, yaxis} = plot._fullLayout;
      for (const t of plot.data) {
        const i = (t.customdata ?? []).indexOf(row);
        if (i >= 0) return [box.x + xaxis.d2p(t.x[i]), box.y + yaxis.d2p(t.y[i])];
      }
    }""", row)
    visit.page.mouse.move(*place)
    visit.page.wait_for_timeout(200)
    visit.page.mouse.click(*place)
    visit.settle()
    assert visit.page.evaluate("report.state.picked") == [row]
    for figure in ("bytes", "operations", "energy", "time"):
        assert set(sums(visit.drawn(figure))) == {row}
    assert points["method"][row] in visit.page.locator('[data-figure="pareto"] table').inner_text()
    visit.page.get_by_role("button", name="Let picked points go").click()
    visit.settle()
    assert len(sums(visit.drawn("energy"))) == len(at_start(points))


def test_hover_texts_carry_units(visit):
    visit.set(accelerator=None)
    for figure in (
        "pareto", "bytes", "operations", "energy", "time", "scaling", "break_even",
    ):
        texts = [text for t in visit.drawn(figure) if not t["skip"] for text in t["hover"] if text]
        assert texts, figure
        for text in texts:
            *_, last = (
                line for line in text.split("<br>") if not re.search("^source|rows drawn", line)
            )
            assert re.search(UNITS, last), text
    hover = visit.drawn("pareto")[0]["hover"][0]
    assert re.search(r"energy: [\d.,]+ \[[\d.,]+, [\d.,]+\]\s[mµn]J", hover)
    assert "source: model" in hover


def test_a_link_leads_back_to_the_view(chromium, visit):
    visit.set(accelerator=["gpu_hbm3"], context=None, boundary="board", values="relative",
              cost="time", picked=[3, 4])
    state = visit.page.evaluate("report.state")
    address = visit.page.evaluate("location.hash")
    other = Visit(chromium, visit.path, hash_=address)
    assert other.page.evaluate("report.state") == state
    assert other.rows() == visit.rows()
    assert other.complaints == []
    other.close()


def test_a_link_with_nonsense_is_read_as_far_as_it_goes(chromium, shared):
    hash_ = view_hash(accelerator="gone", cost="energy", picked="1 x 99999", nothing="1")
    other = Visit(chromium, shared.path, hash_=hash_)
    assert other.complaints == []
    assert other.page.evaluate("report.state.picked") == [1]
    assert "No point passes" in other.sentence("energy")
    other.close()


def test_the_csv_is_the_filtered_table(visit, points):
    visit.only("accelerator", "gpu_hbm3")
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "made_up.csv"
    with open(download.value.path(), encoding="utf-8", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    wanted = points.loc[visit.rows()]
    assert [row["method"] for row in rows] == list(wanted["method"])
    assert set(rows[0]) == set(points.columns)
    for column in ("rel_error", "moved_bytes", "board_energy_j", "time_s", "context"):
        assert_allclose([float(row[column]) for row in rows], wanted[column].astype(float),
                        rtol=SINGLE)


def test_a_keyboard_reaches_and_changes_a_filter(visit, points):
    page = visit.page
    page.locator('[data-facet="accelerator"] summary').focus()
    page.keyboard.press("Enter")
    page.locator('[data-facet="accelerator"] .option').first.wait_for()
    for _ in range(2):  # past "all" and "none"
        page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.value") != "gpu_hbm3":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    visit.settle()
    chosen = {points["accelerator"][row] for row in visit.rows()}
    assert chosen == {"edge_bf16_7nm_lpddr5", "gpu_hbm3"}
    page.keyboard.press("Escape")
    assert not page.locator('[data-facet="accelerator"] .options').is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_the_name_of_an_accelerator_in_the_summary_filters_for_it(visit, points):
    visit.page.get_by_role("button", name="GPU with HBM3", exact=True).click()
    visit.settle()
    assert {points["accelerator"][row] for row in visit.rows()} == {"gpu_hbm3"}
