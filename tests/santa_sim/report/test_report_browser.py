"""What a reader sees: the page in a real browser."""

import pytest
from made_up_study import DATA, MACHINES, METHODS, make_tables
from test_report_page import EVIL, evil_tables

from santa_sim.report.build import write_report

WIDTHS = (1280, 600)
FIGURES = ("bytes", "operations", "energy", "time", "error", "break-even")
OVERLAP_PX2 = 12.0
"""Text boxes include ascenders and descenders; this much is empty at their corners."""

SHOWN = """async (figure) => {
  await new Promise((done) => setTimeout(done, 80));
  return [...figure.querySelectorAll('.plot text, .plot path.point, .plot .bars path, .note')]
    .map((e) => [e.textContent, e.getAttribute('d'), e.style.fill.startsWith('url')]).join('|');
}"""
"""Texts, shapes, and which bars are hatched; not the identifiers, which are new each time."""

TEXTS = """(selector) => [...document.querySelectorAll(selector)].map((e) => {
  const r = e.getBoundingClientRect();
  return {text: e.textContent, x0: r.left, y0: r.top, x1: r.right, y1: r.bottom};
})"""


class Visit:
    """A page with everything that it asked for or complained about."""

    def __init__(self, browser, path, width):
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.complaints, self.requests = [], []
        self.page.on("console", lambda m: self.complaints.append(m.text))
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("dialog", lambda d: (self.complaints.append(d.message), d.dismiss()))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_function(
            "[...document.querySelectorAll('.plot')]"
            ".every((p) => p.hidden || p.querySelector('.main-svg'))"
        )
        self.settle()

    def settle(self):
        """Wait until no figure changes its height any more."""
        self.page.evaluate("""async () => {
          let before = -1;
          while (document.body.scrollHeight !== before) {
            before = document.body.scrollHeight;
            await new Promise((done) => setTimeout(done, 150));
          }
        }""")

    def figure(self, name):
        return self.page.locator(f"#figure-{name}")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(make_tables(), path)
    return path


@pytest.fixture(scope="module")
def visits(chromium, report):
    opened = {width: Visit(chromium, report, width) for width in WIDTHS}
    yield opened
    for visit in opened.values():
        visit.page.close()


@pytest.fixture(params=WIDTHS)
def visit(request, visits):
    return visits[request.param]


@pytest.fixture
def wide(visits):
    return visits[WIDTHS[0]]


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


def test_the_page_complains_about_nothing_and_asks_for_nothing(visit, report):
    assert visit.complaints == []
    assert [u for u in visit.requests if not u.startswith("data:")] == [report.as_uri()]


def test_nothing_is_wider_than_the_window(visit):
    widths = "[document.documentElement.scrollWidth, window.innerWidth]"
    page, window = visit.page.evaluate(widths)
    assert page <= window


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_drawn_within_its_section(visit, name):
    box = visit.figure(name).locator(".main-svg").first.bounding_box()
    section = visit.page.locator(f"#{name}").bounding_box()
    assert box["width"] > 300
    assert box["height"] > 150
    assert box["x"] >= section["x"]
    assert box["x"] + box["width"] <= section["x"] + section["width"]


@pytest.mark.parametrize("name", FIGURES)
def test_legends_titles_and_tick_labels_do_not_overlap(visit, name):
    inside = f"#figure-{name} "
    kinds = (".legendtext", ".g-xtitle text", ".g-ytitle text", ".xtick text", ".ytick text")
    texts = visit.page.evaluate(TEXTS, ", ".join(inside + kind for kind in kinds))
    assert any("per decode step" in t["text"] or "pJ/bit" in t["text"] for t in texts)
    assert overlaps(texts) == []


def test_the_names_of_memories_do_not_overlap(visit):
    texts = visit.page.evaluate(TEXTS, "#figure-break-even .annotation-text")
    # close prices share a name
    assert [t["text"] for t in texts] == ["SRAM 0.1", "LPDDR5 4, HBM3 5"]
    assert overlaps(texts) == []


@pytest.mark.parametrize("name", FIGURES)
def test_every_text_of_a_figure_lies_inside_it(visit, name):
    box = visit.figure(name).locator(".main-svg").first.bounding_box()
    texts = visit.page.evaluate(TEXTS, f"#figure-{name} .main-svg text")
    outside = [
        t["text"] for t in texts if t["text"].strip() and t["x1"] > t["x0"] and (
            t["x0"] < box["x"] - 1 or t["x1"] > box["x"] + box["width"] + 1
            or t["y0"] < box["y"] - 1 or t["y1"] > box["y"] + box["height"] + 1
        )
    ]
    assert outside == []


@pytest.mark.parametrize("name", FIGURES)
def test_every_menu_changes_its_figure_and_back(wide, name):
    figure = wide.figure(name)

    def shown():
        return figure.evaluate(SHOWN)

    for menu in figure.locator("label:not([hidden]) select").all():
        start = menu.evaluate("e => e.selectedIndex")
        before = shown()
        states = set()
        for i in range(menu.locator("option").count()):
            menu.select_option(index=i)
            states.add(shown())
        assert len(states) > 1
        menu.select_option(index=start)
        assert shown() == before
    assert wide.complaints == []


def test_a_choice_without_data_says_so_and_comes_back(wide):
    figure = wide.figure("energy")
    menus = figure.locator("select")
    menus.nth(1).select_option(label="Edge part, bf16, LPDDR5")
    menus.nth(2).select_option(index=1)
    assert "has no board account" in figure.locator(".note").inner_text()
    assert not figure.locator(".plot").is_visible()
    menus.nth(2).select_option(index=0)
    assert figure.locator(".plot").is_visible()
    wide.settle()


def test_it_prints_within_the_paper(wide):
    wide.page.emulate_media(media="print")
    wide.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    wide.settle()
    widths = wide.page.evaluate("[...document.querySelectorAll('.plot')].filter((p) => !p.hidden)"
                                 ".map((p) => p.querySelector('.main-svg').clientWidth)")
    assert widths
    assert max(widths) <= 680
    wide.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    wide.page.emulate_media(media="screen")
    wide.settle()


def test_names_with_markup_are_shown_as_they_are(chromium, tmp_path):
    path = tmp_path / "evil.html"
    write_report(evil_tables(), path)
    visit = Visit(chromium, path, 1280)
    assert visit.complaints == []
    assert visit.page.locator("h1").inner_text().startswith(EVIL[:20])
    labels = visit.page.evaluate(TEXTS, "#figure-bytes .ytick text")
    assert any("<script>" in t["text"] for t in labels)
    visit.page.close()


def test_one_case_method_and_machine_make_a_page_without_idle_menus(chromium, tmp_path):
    path = tmp_path / "small.html"
    write_report(make_tables(data=DATA[:1], methods=METHODS[3:4], machines=MACHINES[:1]), path)
    visit = Visit(chromium, path, 1280)
    assert visit.complaints == []
    shown = [m for m in visit.page.locator("select").all() if m.is_visible()]
    assert all(m.locator("option").count() > 1 for m in shown)
    assert visit.figure("bytes").locator(".main-svg").first.bounding_box()["height"] > 150
    visit.page.close()
