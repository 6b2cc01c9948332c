import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from made_up_study import DATA, MACHINES, METHODS, make_tables, without_errors

from santa_sim.report.build import build_html, report_sections, write_report
from santa_sim.report.page import page
from santa_sim.report.section import Figure, Menu, Panel, Said, Section
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


def specs(html: str) -> list[dict]:
    """Return what the figures of a page are made of."""
    packed = re.findall(r'<script type="application/gzip">(.*?)</script>', html)
    return [json.loads(gzip.decompress(b64decode(text))) for text in packed]


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


def test_plotly_shows_text_of_a_study_literally():
    # Plotly reads a few tags in labels, and %{...} in templates
    for section in report_sections(View(evil_tables())):
        for panel in section.figure.panels.values() if section.figure else ():
            texts = json.dumps([panel.data, panel.layout])
            assert "<script>" not in texts
            for trace in panel.data:
                assert "alert" not in str(trace.get("hovertemplate", ""))


def test_every_panel_is_what_plotly_understands():
    import plotly.graph_objects as go

    for section in report_sections(View(make_tables(data=DATA[1:4]))):
        if section.figure is None:
            continue
        for panel in section.figure.panels.values():
            go.Figure(data=panel.data, layout=panel.layout)  # raises on an unknown attribute


def test_every_choice_of_the_menus_has_a_panel():
    for section in report_sections(View(make_tables(methods=METHODS * 1))):
        if section.figure is None:
            continue
        sizes = [len(menu.options) for menu in section.figure.menus]
        keys = set(section.figure.panels)
        total = 1
        for size in sizes:
            total *= size
        assert len(keys) == total
        assert all(0 <= i < size for key in keys for i, size in zip(key, sizes, strict=True))
        assert all(0 <= menu.start < len(menu.options) for menu in section.figure.menus)


def test_an_empty_panel_says_why():
    tables = make_tables(methods=METHODS[:1])
    empty = [
        panel
        for section in report_sections(View(tables)) if section.figure
        for panel in section.figure.panels.values() if not panel.data
    ]
    assert empty
    assert all(panel.note for panel in empty)


def test_figures_survive_the_way_into_the_page():
    layout = {"yaxis": {"ticktext": ["</script>", "b"]}, "height": 3}
    panels = {(0,): Panel([{"x": [1.5, None]}], layout, "note"), (1,): Panel([], layout)}
    section = Section("s", "q?", (Said("", ("a",)),), Figure((Menu("m", ("a", "b")),), panels))
    html = page("t", "l", "b", [section])
    (spec,) = specs(html)
    assert spec["yaxes"] == [layout["yaxis"]]
    assert spec["panels"]["0"] == {
        "data": [{"x": [1.5, None]}], "layout": {"yaxis": 0, "height": 3}, "note": "note",
    }
    assert spec["panels"]["1"]["layout"]["yaxis"] == 0


def test_a_number_that_is_none_cannot_slip_into_a_figure():
    panels = {(): Panel([{"x": [float("nan")]}], {})}
    with pytest.raises(ValueError, match="not JSON compliant"):
        page("t", "l", "b", [Section("s", "q?", (), Figure((), panels))])


@pytest.mark.parametrize("part", [
    {"methods": METHODS[:1]}, {"machines": MACHINES[:1]}, {"data": DATA[3:]},
    {"machines": MACHINES[1:2], "methods": METHODS[:3]},
])
def test_a_study_with_parts_missing_still_makes_a_page(part, tmp_path):
    for tables in (make_tables(**part), without_errors(make_tables(**part))):
        write_report(tables, tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert text.rstrip().endswith("</html>")
        assert specs(text)
