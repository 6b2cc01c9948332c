from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest
from made_up_study import DATA, MACHINES, METHODS, make_tables, without_errors
from numpy.testing import assert_allclose
from unpack import carried

from santa_sim.report.build import build_html, write_report
from santa_sim.report.page_data import page_points
from santa_sim.report.view import View

EVIL = "<script>alert('x')</script>&amp;<b>%{x}</b>\"\u2028"


class Elements(HTMLParser):
    """Collects start tags and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)


def parsed(html: str) -> Elements:
    elements = Elements()
    elements.feed(html)
    return elements


def evil_tables():
    tables = make_tables(data=DATA[:3])
    points = tables.points.copy()
    points["method"] = points["method"].where(points["method"] != "santa_iid S=256", EVIL)
    points["accelerator_title"] = EVIL + points["accelerator_title"]
    points["source"] = points["source"] + EVIL
    points["dataset"] = points["dataset"] + EVIL
    constants = tables.constants.copy()
    constants["source"] = EVIL
    return replace(
        tables, title=EVIL, question=EVIL, study_name=EVIL, points=points, constants=constants,
        notes=[EVIL], study_text=EVIL, provenance={EVIL: [EVIL, {"a": EVIL}]},
    )


def test_the_page_is_one_file_that_loads_nothing():
    elements = parsed(build_html(make_tables()))
    for tag, attributes in elements.tags:
        assert "src" not in attributes, tag
        assert attributes.get("href", "#").startswith(("#", "data:")), attributes
    assert not any(tag in ("iframe", "object", "embed", "base") for tag, _ in elements.tags)


def test_equal_tables_make_equal_pages():
    assert build_html(make_tables(data=DATA[:1])) == build_html(make_tables(data=DATA[:1]))


def test_plotly_is_embedded_once():
    html = build_html(make_tables(data=DATA[:1]))
    assert html.count("plotly.js v") == 1


def test_text_of_a_study_never_becomes_an_element():
    clean, evil = (
        parsed(build_html(t)) for t in (make_tables(data=DATA[:3]), evil_tables())
    )
    kinds = {"script", "b"}
    count = [sum(tag in kinds for tag, _ in e.tags) for e in (clean, evil)]
    assert count[0] == count[1]
    assert not any("alert('x')" in s and "<script>" in s for s in evil.scripts)


def test_the_page_carries_the_tables_of_its_points():
    view = View(make_tables())
    facts, tables = carried(build_html(view.tables))
    points = page_points(view)
    assert len(tables["points"]["method"]) == len(points)
    for name, column in tables["points"].items():
        if points[name].dtype.kind in "if":
            # float32: half a unit of the 24th bit
            assert_allclose(column, points[name].astype(float), rtol=2.0**-24)
        else:
            assert column == points[name].tolist()
    assert facts["start"]["accelerator"] == [MACHINES[0].name]


def test_details_belong_to_their_points_and_sum_to_their_totals():
    view = View(make_tables())
    _, tables = carried(build_html(view.tables))
    points, energy = pd.DataFrame(tables["points"]), pd.DataFrame(tables["energy"])
    assert energy["row"].is_monotonic_increasing
    for account in ("device", "board"):
        sums = energy[energy["account"] == account].groupby("row")["nominal_j"].sum()
        wanted = points[f"{account}_energy_j"].dropna()
        # each part keeps 16 significant bits
        assert_allclose(sums.reindex(wanted.index), wanted, rtol=2.0**-16 + 2.0**-23)


def test_a_section_brings_its_own_tables():
    _, tables = carried(build_html(make_tables()))
    assert len(tables["break_even"]["bytes_saved"]) == 4 * 2
    assert set(tables["bit_prices"]["name"]) == {"SRAM", "LPDDR5", "HBM3"}


@pytest.mark.parametrize("part", [
    {"methods": METHODS[:1]}, {"machines": MACHINES[:1]}, {"data": DATA[3:]},
    {"machines": MACHINES[1:2], "methods": METHODS[:3]},
])
def test_a_study_with_parts_missing_still_makes_a_page(part, tmp_path):
    for tables in (make_tables(**part), without_errors(make_tables(**part))):
        write_report(tables, tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")
        assert carried(text)[1]["points"]
