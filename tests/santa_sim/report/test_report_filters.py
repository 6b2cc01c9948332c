"""The numbers in the browser: every filter, every figure, against the tables."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from page_oracle import at_start, front_of, sums

SINGLE, DETAIL = 2.0**-23, 2.0**-15
"""Relative errors of a number of a point (float32), and of a sum of rounded details."""
FACETS = {
    "attention": ("attention", "synthetic llama lognormal"),
    "context": ("context", 8192), "batch": ("batch", 4), "accelerator": ("accelerator", "gpu_hbm3"),
    "method": ("method", "s2anta_comb S=256 tile=64"), "samples": ("samples_requested", 1024),
}


def assert_bars(live, figure, wanted, rtol):
    found = sums(live.drawn(figure))
    wanted = wanted.dropna()
    wanted = wanted[wanted > 0]
    if len(live.rows()) <= 28:
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


def check_everything(live, tables, points, wanted, account="board"):
    """Compare every figure with the tables, for the points that the filter should leave."""
    assert sorted(live.rows()) == sorted(wanted.index)
    energy = wanted[f"{account}_energy_j"]
    assert_bars(live, "energy", energy, DETAIL)
    assert_bars(live, "time", wanted["time_s"], SINGLE)
    moved = details(tables, points, "streams", "moved_bytes")
    assert_bars(live, "bytes", moved.loc[wanted.index], DETAIL)
    multiplies = details(tables, points, "operations", "count", kind="multiply")
    assert_bars(live, "operations", multiplies.loc[wanted.index], DETAIL)
    check_pareto(live, wanted, f"{account}_energy_j")
    check_summary(live, points, wanted, account)
    assert f"{len(wanted)} point" in live.sentence("points")


def check_pareto(live, wanted, cost):
    known = wanted[wanted[cost].notna()]
    markers = [t for t in live.drawn("pareto") if t["mode"] == "markers" and not t["skip"]]
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


def check_summary(live, points, wanted, account):
    """The best of every accelerator, whatever the filter of accelerators says."""
    state = live.page.evaluate("report.state")
    rows = points
    for facet, (column, _) in FACETS.items():
        if facet != "accelerator" and state[facet] is not None:
            texts = rows[column].map(
                lambda v: v if isinstance(v, str) else "none" if math.isnan(v) else f"{v:.0f}")
            rows = rows[texts.isin(state[facet])]
    cells = live.cells("summary")
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


def test_the_page_starts_with_what_its_sentences_speak_about(live, tables, points):
    check_everything(live, tables, points, at_start(points), "device")


@pytest.mark.parametrize("facet", FACETS)
def test_every_filter_drives_every_figure(live, tables, points, facet):
    live.set(**dict.fromkeys(FACETS), boundary="board")
    column, value = FACETS[facet]
    live.only(facet, value)
    check_everything(live, tables, points, points[points[column] == value])
    live.all(facet)
    assert len(live.rows()) == len(points)


def test_filters_join(live, tables, points):
    live.set(**dict.fromkeys(FACETS))
    for facet, value in (("accelerator", "gpu_hbm3"), ("context", 8192), ("samples", "none")):
        live.only(facet, value)
    wanted = points[(points["accelerator"] == "gpu_hbm3") & (points["context"] == 8192)
                    & points["samples_requested"].isna()]
    assert len(wanted) == 3
    check_everything(live, tables, points, wanted, "device")


def test_the_boundary_chooses_the_account(live, tables, points):
    live.only("accelerator", "gpu_hbm3")
    wanted = points[(points["accelerator"] == "gpu_hbm3") & (points["attention"] == "real tiny")
                    & (points["context"] == 8192)]
    for account in ("board", "device"):
        live.menu("boundary", account)
        check_everything(live, tables, points, wanted, account)


def test_an_account_that_is_not_there_is_said_and_not_drawn(live):
    live.menu("boundary", "board")
    assert "no board account" in live.notes("energy")
    assert live.drawn("energy") == []


@pytest.mark.parametrize(("cost", "column"), [
    ("time", "time_s"), ("bytes", "moved_bytes"), ("energy", "device_energy_j"),
])
def test_error_is_shown_against_each_cost(live, points, cost, column):
    live.menu("cost", cost)
    wanted = at_start(points)
    check_pareto(live, wanted[wanted["fits"] == 1], column)


def test_shares_are_of_the_baseline(live, points):
    live.menu("values", "relative")
    wanted = at_start(points)
    base = wanted[wanted["method"] == "dense"].iloc[0]
    found = sums(live.drawn("energy"))
    for row, share in found.items():
        assert share == pytest.approx(
            wanted["device_energy_j"][row] / base["device_energy_j"], rel=DETAIL)
    live.menu("baseline", "s2anta_comb S=64 tile=64")
    base = wanted[wanted["method"] == "s2anta_comb S=64 tile=64"].iloc[0]
    found = sums(live.drawn("time"))
    for row, share in found.items():
        assert share == pytest.approx(wanted["time_s"][row] / base["time_s"], rel=2 * SINGLE)


def test_a_machine_without_dense_is_compared_with_its_twin(live, points):
    live.only("accelerator", "edge_ternary_7nm_lpddr5")
    live.menu("values", "relative")
    base = at_start(points).set_index("method").loc["dense"]
    found = sums(live.drawn("energy"))
    shown = {row: share for row, share in found.items() if share > 0}
    assert shown
    for row, share in shown.items():
        assert share == pytest.approx(
            points["device_energy_j"][row] / base["device_energy_j"], rel=DETAIL)


def test_logarithmic_axes_show_parts_as_dots_of_the_same_values(live, points):
    live.menu("scale", "log")
    found = {}
    for trace in live.drawn("energy"):
        if trace["ends"] is None:
            assert trace["type"] == "scatter"
            for row, x in zip(trace["rows"], trace["x"], strict=True):
                found[row] = found.get(row, 0.0) + (x or 0.0)
    wanted = at_start(points)["device_energy_j"]
    assert_allclose([found[row] for row in wanted.index], wanted, rtol=DETAIL)


def test_intervals_are_those_of_the_table(live, points):
    wanted = at_start(points)
    (total,) = (t for t in live.drawn("energy") if t["ends"])
    for row, x, minus, plus in zip(total["rows"], total["x"], *total["ends"], strict=True):
        assert x - minus == pytest.approx(wanted["device_energy_low_j"][row], rel=1e-5)
        assert x + plus == pytest.approx(wanted["device_energy_high_j"][row], rel=1e-5)


@pytest.mark.parametrize(("along", "facet", "column"), [
    ("context", "context", "context"), ("batch", "batch", "batch"),
    ("samples", "samples", "samples_requested"),
])
def test_scaling_shows_all_values_of_its_own_axis(live, points, along, facet, column):
    live.set(attention=["synthetic llama lognormal"], context=["8192"], batch=["1"], samples=None)
    live.menu("along", along)
    others = {"context": 8192, "batch": 1}
    others.pop(along, None)
    rows = points[(points["attention"] == "synthetic llama lognormal")
                  & (points["accelerator"] == "edge_bf16_7nm_lpddr5")]
    for name, value in others.items():
        rows = rows[rows[name] == value]
    lines = [t for t in live.drawn("scaling") if "lines" in t["mode"]]
    assert lines
    for line in lines:
        for row, x, y in zip(line["rows"], line["x"], line["y"], strict=True):
            assert row in rows.index
            assert y == pytest.approx(rows["device_energy_j"][row], rel=SINGLE)
            if "markers" in line["mode"]:
                assert x == rows[column][row]
    seen = {row for line in lines for row in line["rows"]}
    assert len({rows[column][row] for row in seen if not math.isnan(rows[column][row])}) > 1


def test_a_crossover_is_where_both_lines_have_the_same_value(live, points):
    live.set(samples=None, method=None, context=["8192"], attention=["real tiny"])
    live.menu("measure", "time")
    marks = [t for t in live.drawn("scaling") if t["name"].startswith("crosses")]
    lines = {t["name"]: t for t in live.drawn("scaling") if "lines" in t["mode"]}
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
