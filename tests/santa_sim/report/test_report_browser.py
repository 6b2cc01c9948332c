"""What a reader sees: the page in a real browser."""

import os
from dataclasses import replace

import pandas as pd
import pytest
from made_up_study import DATA, MACHINES, METHODS, Machine, make_tables, without_errors
from test_report_page import EVIL, evil_tables
from visit import Visit

from santa_sim.report.build import write_report

SIZES = ((1280, "light"), (390, "dark"))
PLOTS = ("pareto", "bytes", "operations", "energy", "time", "scaling", "break_even",
         "tornado", "roofline")
OVERLAP_PX2 = 12.0
"""Text boxes include ascenders and descenders; this much is empty at their corners."""
LONG = "a" * 140 + " " + "📈" * 60 + " 'quoted' \"twice\" " + "b" * 80


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(make_tables(), path)
    return path


@pytest.fixture(scope="module")
def visits(chromium, report):
    opened = {size: Visit(chromium, report, *size) for size in SIZES}
    yield opened
    for visit in opened.values():
        visit.close()


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]}-{size[1]}")
def visit(request, visits):
    return visits[request.param]


@pytest.fixture
def wide(visits):
    return visits[SIZES[0]]


def area(a, b):
    width = min(a["x1"], b["x1"]) - max(a["x0"], b["x0"])
    height = min(a["y1"], b["y1"]) - max(a["y0"], b["y0"])
    return max(0.0, width) * max(0.0, height)


def overlaps(texts):
    boxes = [t for t in texts if t["text"].strip() and t["x1"] > t["x0"]]
    return [
        (a["text"], b["text"]) for i, a in enumerate(boxes) for b in boxes[i + 1:]
        if area(a, b) > OVERLAP_PX2
    ]


def labels_of(visit, figure):
    inside = f'[data-figure="{figure}"] .plot '
    kinds = (".legendtext", ".g-xtitle text", ".g-ytitle text", ".xtick text", ".ytick text",
             ".annotation-text")
    return visit.texts(", ".join(inside + kind for kind in kinds))


def assert_drawn_well(visit, figure):
    """No text of a figure covers another or leaves the figure, and the figure its section."""
    plot = f'[data-figure="{figure}"] .plot'
    (box,) = visit.texts(f"{plot} .main-svg:first-of-type")[:1]
    (section,) = visit.texts(f'section:has([data-figure="{figure}"])')
    assert box["x0"] >= section["x0"]
    assert box["x1"] <= section["x1"]
    assert box["y1"] - box["y0"] > 120
    texts = labels_of(visit, figure)
    assert texts
    assert overlaps(texts) == []
    outside = [
        t["text"] for t in visit.texts(f"{plot} .main-svg text") if t["text"].strip()
        and t["x1"] > t["x0"] and (t["x0"] < box["x0"] - 1 or t["x1"] > box["x1"] + 1
                                   or t["y0"] < box["y0"] - 1 or t["y1"] > box["y1"] + 1)
    ]
    assert outside == []


def assert_page_fits(visit):
    page, window = visit.page.evaluate(
        "[document.documentElement.scrollWidth, window.innerWidth]")
    assert page <= window
    # nothing but what can be scrolled is wider than the window
    cut = visit.page.evaluate("""() => [...document.querySelectorAll("main *, header *, .bar *")]
      .filter((e) => !e.closest(".scroll, pre, svg, .js-plotly-plot, .options"))
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML)""")
    assert cut == []


def test_the_page_complains_about_nothing_and_asks_for_nothing(visit, report):
    assert visit.complaints == []
    assert [u for u in visit.requests if not u.startswith("data:")] == [report.as_uri()]


def test_nothing_is_wider_than_the_window(visit):
    assert_page_fits(visit)


def test_controls_do_not_cover_each_other(visit):
    visit.page.evaluate("document.querySelector('#bar').open = true")
    kinds = (".facet:not([hidden]) > summary", ".menu:not([hidden])", "button")
    boxes = visit.texts(", ".join(f".bar {kind}" for kind in kinds))
    shown = [b for b in boxes if b["x1"] > b["x0"]]
    assert len(shown) > 8
    assert [(a["text"], b["text"]) for i, a in enumerate(shown) for b in shown[i + 1:]
            if area(a, b) > 0] == []
    assert_page_fits(visit)


@pytest.mark.parametrize("figure", PLOTS)
def test_every_figure_is_drawn_with_nothing_overlapping_or_cut_off(visit, figure):
    assert_drawn_well(visit, figure)


def test_figures_of_everything_are_drawn_as_well(visit):
    """All filters open, shares on logarithmic axes: the longest labels and the widest ranges."""
    visit.set(attention=None, context=None, accelerator=None, values="relative", scale="log")
    for figure in PLOTS:
        assert_drawn_well(visit, figure)
    assert_page_fits(visit)
    visit.reset()


def test_an_accessibility_checker_finds_nothing(visit):
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        if os.environ.get("SANTA_SIM_REQUIRE_BROWSER") == "1":
            raise
        pytest.skip("needs axe-playwright-python")
    visit.page.evaluate("document.querySelector('#bar').open = true")
    visit.page.locator('[data-facet="accelerator"] summary').click()
    visit.set(picked=[1, 2])
    for fold in visit.page.locator("section > details").all():
        fold.evaluate("e => { e.open = true; }")
    found = Axe().run(visit.page)
    visit.reset()
    visit.page.keyboard.press("Escape")
    assert found.violations_count == 0, found.generate_report()


def test_every_menu_changes_its_figure_and_back(wide):
    def shown(figure):
        return [(t["name"], t["x"], t["y"]) for t in wide.drawn(figure)]

    for menu in wide.page.locator(".figure .menu:not([hidden]) select").all():
        key = menu.get_attribute("data-key")
        figure = menu.evaluate("e => e.closest('[data-figure]').dataset.figure")
        start, before = menu.input_value(), shown(figure)
        states = set()
        for value in menu.evaluate("e => [...e.options].map((o) => o.value)"):
            wide.show(figure, **{key: value})
            states.add(str(shown(figure)) + wide.sentence(figure))
        assert len(states) > 1, key
        wide.show(figure, **{key: start})
        assert shown(figure) == before
    assert wide.complaints == []


def test_dark_and_light_can_be_chosen(wide):
    def ground():
        return wide.page.evaluate("""[getComputedStyle(document.body).backgroundColor,
            document.querySelector(".js-plotly-plot").layout.paper_bgcolor]""")

    before = ground()
    wide.page.get_by_role("button", name="Dark or light").click()
    wide.settle()
    assert all(a != b for a, b in zip(ground(), before, strict=True))
    wide.page.get_by_role("button", name="Dark or light").click()
    wide.settle()
    assert ground() == before


def test_it_prints_light_and_within_the_paper(visits):
    visit = visits[SIZES[1]]
    visit.page.emulate_media(media="print")
    visit.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    visit.page.wait_for_timeout(500)
    widths, grounds = visit.page.evaluate("""(() => {
      const plots = [...document.querySelectorAll(".plot")].filter((p) => !p.hidden && p.data);
      return [plots.map((p) => p.querySelector(".main-svg").clientWidth),
              plots.map((p) => p.layout.paper_bgcolor)];
    })()""")
    assert len(widths) == len(PLOTS)
    assert max(widths) <= 680
    assert set(grounds) == {"#ffffff"}
    assert not visit.page.locator("#csv").is_visible()
    visit.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    visit.page.emulate_media(media="screen")
    visit.page.wait_for_timeout(300)


def long_names():
    tables = evil_tables()
    points = tables.points.copy()
    points["method"] = points["method"].replace("santa_stratified S=256", LONG)
    points["accelerator_title"] = points["accelerator_title"] + LONG
    return replace(tables, points=points)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_hostile_and_long_names_are_shown_as_text(chromium, tmp_path, size):
    path = tmp_path / "evil.html"
    write_report(long_names(), path)
    visit = Visit(chromium, path, *size)
    visit.set(accelerator=None)
    assert visit.complaints == []
    assert visit.page.locator("h1").inner_text().startswith(EVIL[:20])
    for figure in ("bytes", "energy", "scaling"):
        texts = " ".join(t["text"] for t in labels_of(visit, figure))
        assert "<script>" in texts, figure
        assert_drawn_well(visit, figure)
    hover = [text for t in visit.drawn("energy") for text in t["hover"]]
    assert any("&lt;script&gt;alert('x')" in text for text in hover)
    cells = " ".join(cell for row in visit.cells("points") for cell in row)
    assert LONG in cells
    assert_page_fits(visit)
    visit.close()


def forty():
    return tuple(
        Machine(f"edge_bf16_{i}", f"Edge part number {i}", 1.0 + i, True, ("device", "board"))
        for i in range(40)
    )


def gaps():
    """No energy on one machine and no error for one method, as a study leaves them."""
    tables = make_tables()
    points = tables.points.copy()
    points.loc[points["accelerator"] == MACHINES[2].name, [
        c for c in points.columns if "energy" in c]] = float("nan")
    points.loc[points["method"] == METHODS[4].label, [
        "rel_error", "rel_error_low", "rel_error_high"]] = float("nan")
    energy = tables.energy[tables.energy["accelerator"] != MACHINES[2].name]
    return replace(tables, points=points, energy=energy)


def failed():
    """Some points failed: they are no rows, and the notes say so."""
    tables = make_tables()
    kept = tables.points[tables.points["method"] != "dense"].reset_index(drop=True)
    return replace(tables, points=kept, notes=["dense on tiny t0 failed: no memory"])


ODD = {
    "one point": lambda: make_tables(data=DATA[:1], methods=METHODS[3:4], machines=MACHINES[:1]),
    "one dense point": lambda: make_tables(data=DATA[:1], methods=METHODS[:1],
                                           machines=MACHINES[:1]),
    "nothing runs": lambda: make_tables(data=DATA[:1], methods=METHODS[:3], machines=MACHINES[1:2]),
    "no errors": lambda: without_errors(make_tables(data=DATA[:3])),
    "failed points": failed, "gaps": gaps,
    "40 accelerators": lambda: make_tables(data=DATA[2:3], machines=forty()),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_runs_are_shown_without_complaint(chromium, tmp_path, name):
    path = tmp_path / "odd.html"
    write_report(ODD[name](), path)
    visit = Visit(chromium, path, 390)
    everything = {"accelerator": None, "context": None, "attention": None}
    for state in ({}, {**everything, "values": "relative", "scale": "log"}):
        if state:
            visit.set(**state)
        for figure in PLOTS:
            if visit.page.locator(f'[data-figure="{figure}"]').count() == 0:
                continue
            assert visit.sentence(figure)
            for trace in visit.drawn(figure):
                assert all(x is None or pd.notna(x) for x in trace["x"])
            if visit.drawn(figure):
                assert_drawn_well(visit, figure)
        assert_page_fits(visit)
    for menu in visit.page.locator("select").all():
        if menu.is_visible():
            assert menu.locator("option").count() > 1
    assert visit.complaints == []
    if name == "failed points":
        assert "dense on tiny t0 failed" in visit.page.locator("#sources").text_content()
    if name == "40 accelerators":
        assert len(visit.cells("summary")) == 40
    visit.close()
