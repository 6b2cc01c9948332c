"""The sections on runs in time, on a made-up study whose figures are round."""

from dataclasses import replace

import pandas as pd
import pytest
from made_up_study import DATA, MACHINES, METHODS, make_tables
from visit import Visit

from santa_sim.report.build import report_sections, write_report
from santa_sim.report.event_view import EventView, cheapest, holds_up
from santa_sim.report.view import View

LAYOUTS, DEPTHS = ("hnd", "nhd"), (2, 1)


def run_of(layout, depth):
    return f"{layout}, depth {depth}"


def timed(points=(0, 1)):
    """Two layouts times two depths: depth 1 keeps the memory half busy, nhd takes three times."""
    tables = make_tables(data=DATA[:1], methods=METHODS[:3], machines=MACHINES[:1])
    name = MACHINES[0].name
    events, tracks, steps = [], [], []
    for point in points:
        for layout in LAYOUTS:
            for depth in DEPTHS:
                time_s = 1e-6 * (3 if layout == "nhd" else 1) * (2 if depth == 1 else 1)
                key = {"point": point, "accelerator": name, "run": run_of(layout, depth)}
                events.append(key | {
                    "kv_layout": layout, "depth": depth, "rates": "", "status": "ok", "error": "",
                    "event_time_s": time_s, "roofline_time_s": 0.9e-6, "memory_alone_s": 0.95e-6,
                    "bottleneck": "memory", "bottleneck_share": 0.95e-6 / time_s,
                    "memory_share": 0.95e-6 / time_s, "bus_share": 0.9e-6 / time_s,
                    "buffer_bytes": 4096 * depth, "unit_rates": 1e9,
                })
                tracks += [key | {
                    "track": track, "slots": depth, "steps": 9, "busy_s": 0.25 * time_s,
                    "stalled_s": 0.5 * time_s, "blocked_s": 0.125 * time_s,
                    "idle_s": 0.125 * time_s,
                } for track in ("stream", "score")]
                if (layout, depth) == ("hnd", 2):
                    steps += [key | {
                        "track": "stream", "slot": i % 2, "label": f"K {i}", "start_s": 1e-7 * i,
                        "end_s": 1e-7 * (i + 1),
                    } for i in range(4)]
    more = {"events": pd.DataFrame(events), "event_tracks": pd.DataFrame(tracks),
            "event_steps": pd.DataFrame(steps)}
    return replace(tables, more=more)


@pytest.fixture(scope="module")
def sections():
    return {section.name: section for section in report_sections(View(timed()))}


def test_the_cheapest_run_has_the_fewest_buffer_bytes_of_those_that_keep_the_memory_busy(sections):
    header, rows = sections["pipeline"].tables[0].header, sections["pipeline"].tables[0].rows
    assert header[2] == "cheapest run"
    assert [row[2] for row in rows] == ["hnd, depth 2"] * 2
    assert [row[3:] for row in rows] == [("8.19 kB", "95.0 %", "1.00 µs")] * 2


def test_of_equal_buffers_the_slower_units_are_cheaper():
    def row(buffers, rates, share=0.95, time=1.0):
        return {"buffer_bytes": buffers, "unit_rates": rates, "memory_share": share,
                "event_time_s": time}

    rows = [row(8, 4, 0.99), row(8, 2), row(8, 2, 0.9, 0.5), row(4, 1, 0.89)]
    assert cheapest(rows) is rows[2]
    assert cheapest(rows[3:]) is None


def test_a_run_is_held_up_by_what_is_busy_for_nine_tenths_of_the_time(sections):
    assert holds_up({"bottleneck": "score", "bottleneck_share": 0.9}) == "score"
    assert holds_up({"bottleneck": "score", "bottleneck_share": 0.89}) == "waiting"
    (said, layout) = sections["pipeline"].answer
    assert said.sentences == (
        "Edge part, bf16, LPDDR5: of 8 runs, memory holds up 2 and 6 wait: nothing is busy for "
        "90.0 % of the time.",
    )
    assert layout.sentences[0].endswith("nhd takes 3.0 times as long as hnd.")


def test_tables_of_the_page_belong_to_its_points(sections):
    view = View(timed(points=(1, 2)))
    found = {section.name: section for section in report_sections(view)}["pipeline"]
    events = found.data["events"]
    assert set(events["row"]) == {1, 2}
    assert events["row"].is_monotonic_increasing
    assert list(events["sizes"].unique()) == ["depth 2", "depth 1"]


def test_datasets_of_a_case_are_averaged():
    # DATA[0] and DATA[1] have one context and make one case
    tables = make_tables(data=DATA[:2], methods=METHODS[:1], machines=MACHINES[:1])
    one = timed(points=(0,)).more["events"]
    both = pd.concat([one, one.assign(point=1, event_time_s=3 * one["event_time_s"])])
    more = {**timed(points=(0,)).more, "events": both}
    view = EventView.of(View(replace(tables, more=more)))
    assert len(view.points) == 1
    assert view.runs["event_time_s"].tolist() == pytest.approx((2 * one["event_time_s"]).tolist())


def test_runs_that_failed_are_left_out():
    tables = timed()
    events = tables.more["events"].assign(status="failed")
    assert EventView.of(View(replace(tables, more={**tables.more, "events": events}))) is None


@pytest.mark.browser
def test_the_figures_show_the_runs(chromium, tmp_path):
    path = tmp_path / "report.html"
    write_report(timed(), path)
    page = Visit(chromium, path)
    try:
        (heat,) = page.page.evaluate(
            """() => document.querySelector('[data-figure="pipeline"] .plot').data.map(
              (t) => ({z: t.z.map((r) => [...r]), text: t.text.map((r) => [...r])}))"""
        )
        assert heat["z"] == [pytest.approx([0.95, 0.475]), pytest.approx([0.95 / 3, 0.475 / 3])]
        assert heat["text"][0][0] == "95 %<br>memory 95 %"
        bars = page.page.evaluate(
            """() => document.querySelector('[data-figure="stages"] .plot').data.map(
              (t) => [t.name, ...t.x])"""
        )
        names = ["busy", "stalled for input", "blocked on output", "idle"]
        assert [bar[0] for bar in bars] == names
        assert bars[0][1:] == pytest.approx([0.25e-6] * 2)
        page.set(run=run_of("nhd", 1))
        bars = page.page.evaluate(
            """() => [...document.querySelector('[data-figure="stages"] .plot').data[0].x]"""
        )
        assert bars == pytest.approx([1.5e-6] * 2)
        steps = page.page.evaluate(
            """() => document.querySelector('[data-figure="timeline"] .plot').data.map(
              (t) => ({y: [...t.y], base: [...t.base], x: [...t.x]}))"""
        )
        assert steps[0]["y"] == [0, 1, 0, 1]
        assert steps[0]["base"] == pytest.approx([0, 1e-7, 2e-7, 3e-7], abs=1e-13)
        page.set(accelerator=[])
        assert page.complaints == []
        assert page.requests in ([], [path.as_uri()])
    finally:
        page.close()
