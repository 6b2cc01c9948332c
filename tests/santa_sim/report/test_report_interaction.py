"""Picking, hovering, links, files and the keyboard, in the browser."""

import csv
import re
from pathlib import Path

from numpy.testing import assert_allclose
from page_oracle import at_start, front_of, sums
from visit import Visit, view_hash

SINGLE = 2.0**-23
"""Relative error of a number of a point, which the page holds in float32."""
UNITS = r"\d[\d,.]*(\]|\))?\s?([EPTGMkmµnpfa]?[JsB]\b|%|pJ/bit|[kMGTP]? ?(operations|tokens|op/s))"


def test_picked_points_are_the_bars_of_the_other_figures(live, points):
    front = front_of(at_start(points), "device_energy_j")
    # one that no other hides
    alone = at_start(points).drop_duplicates(["device_energy_j", "rel_error"], keep=False)
    row = sorted(front & set(alone.index))[0]
    place = live.page.evaluate("""(row) => {
      const plot = document.querySelector('[data-figure="pareto"] .plot');
      plot.scrollIntoView({block: "center"});
      const box = plot.querySelector(".nsewdrag").getBoundingClientRect();
      const {xaxis, yaxis} = plot._fullLayout;
      for (const t of plot.data) {
        const i = (t.customdata ?? []).indexOf(row);
        if (i >= 0) return [box.x + xaxis.d2p(t.x[i]), box.y + yaxis.d2p(t.y[i])];
      }
    }""", row)
    live.page.mouse.move(*place)
    live.page.wait_for_timeout(200)
    live.page.mouse.click(*place)
    live.settle()
    assert live.page.evaluate("report.state.picked") == [row]
    for figure in ("bytes", "operations", "energy", "time"):
        assert set(sums(live.drawn(figure))) == {row}
    assert points["method"][row] in live.page.locator('[data-figure="pareto"] table').inner_text()
    live.page.get_by_role("button", name="Let picked points go").click()
    live.settle()
    assert len(sums(live.drawn("energy"))) == len(at_start(points))


def test_hover_texts_carry_units(live):
    live.set(accelerator=None)
    for figure in (
        "pareto", "bytes", "operations", "energy", "time", "scaling", "break_even", "tornado",
        "roofline",
    ):
        texts = [text for t in live.drawn(figure) if not t["skip"] for text in t["hover"] if text]
        assert texts, figure
        for text in texts:
            *_, last = (
                line for line in text.split("<br>") if not re.search("^source|rows drawn", line)
            )
            assert re.search(UNITS, last), text
    hover = live.drawn("pareto")[0]["hover"][0]
    assert re.search(r"energy: [\d.,]+ \[[\d.,]+, [\d.,]+\]\s[mµn]J", hover)
    assert "source: model" in hover


def test_a_link_leads_back_to_the_view(chromium, live):
    live.set(accelerator=["gpu_hbm3"], context=None, boundary="board", values="relative",
              cost="time", picked=[3, 4])
    state = live.page.evaluate("report.state")
    address = live.page.evaluate("location.hash")
    other = Visit(chromium, live.path, hash_=address)
    assert other.page.evaluate("report.state") == state
    assert other.rows() == live.rows()
    assert other.complaints == []
    other.close()


def test_a_link_with_nonsense_is_read_as_far_as_it_goes(chromium, shared):
    hash_ = view_hash(accelerator="gone", cost="energy", picked="1 x 99999", nothing="1")
    other = Visit(chromium, shared.path, hash_=hash_)
    assert other.complaints == []
    assert other.page.evaluate("report.state.picked") == [1]
    assert "No point passes" in other.sentence("energy")
    other.close()


def test_the_csv_is_the_filtered_table(live, points):
    live.only("accelerator", "gpu_hbm3")
    with live.page.expect_download() as download:
        live.page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "made_up.csv"
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = points.loc[live.rows()]
    assert [row["method"] for row in rows] == list(wanted["method"])
    assert set(rows[0]) == set(points.columns)
    for column in ("rel_error", "moved_bytes", "board_energy_j", "time_s", "context"):
        assert_allclose([float(row[column]) for row in rows], wanted[column].astype(float),
                        rtol=SINGLE)


def test_a_keyboard_reaches_and_changes_a_filter(live, points):
    page = live.page
    page.locator('[data-facet="accelerator"] summary').focus()
    page.keyboard.press("Enter")
    page.locator('[data-facet="accelerator"] .option').first.wait_for()
    for _ in range(2):  # past "all" and "none"
        page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.value") != "gpu_hbm3":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    live.settle()
    chosen = {points["accelerator"][row] for row in live.rows()}
    assert chosen == {"edge_bf16_7nm_lpddr5", "gpu_hbm3"}
    page.keyboard.press("Escape")
    assert not page.locator('[data-facet="accelerator"] .options').is_visible()
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_the_name_of_an_accelerator_in_the_summary_filters_for_it(live, points):
    live.page.get_by_role("button", name="GPU with HBM3", exact=True).click()
    live.settle()
    assert {points["accelerator"][row] for row in live.rows()} == {"gpu_hbm3"}
