from dataclasses import replace

import pandas as pd
import pytest
from made_up_study import DATA, make_tables
from visit import Visit

from santa_sim.report.build import write_report
from santa_sim.report.predicted_measured import predicted_measured
from santa_sim.report.view import View

ERRORS = (-0.3, -0.02, 0.004, 0.01, 0.2)
"""Of five made-up points; their sizes have median 0.02 and maximum 0.3."""


def measured_points(machine="gpu_hbm3"):
    rows = []
    for i, error in enumerate(ERRORS):
        measured = 1e-5 * 2**i
        rows.append({
            "accelerator": machine, "kernel": "dense" if i % 2 else "s2anta_flash",
            "batch": 2**i, "context": 8192, "head_dim": 128, "dtype": "bfloat16",
            "kv_layout": "NHD", "inputs": "flat", "samples": 0 if i % 2 else 512, "l2": "cold",
            "measured_s": measured, "low_s": measured * 0.99, "high_s": measured * 1.01,
            "predicted_s": measured * (1 + error), "error": error, "noise": 0.01, "unseen": i > 2,
            "bound": "steps of flash_kernel" if i in (0, 4) else "memory of <b>",
        })
    return pd.DataFrame(rows)


def with_measured(machine="gpu_hbm3"):
    tables = make_tables(data=DATA[:1])
    points = tables.points[tables.points["accelerator"] == machine]
    times = pd.DataFrame([
        {"point": p, "accelerator": machine, "kernel": "dense" if i == 0 else "",
         "kernel_time_s": 5e-5 if i == 0 else None, "kernel_bound": "memory of dense_kernel",
         "note": "no kernel runs this method"} for i, p in enumerate(points["point"])])
    parts = pd.DataFrame([{"accelerator": machine, "set": "fitted on", "part": "launch", "n": 24,
                           "median": 0.03, "p90": 0.06, "max": 0.1}])
    return replace(tables, more={"validation": measured_points(machine), "kernel_times": times,
                                 "fitted_parts": parts})


def with_bytes_and_joules(machine="gpu_hbm3"):
    tables = with_measured()
    call = {"accelerator": machine, "kernel": "dense", "batch": 4, "context": 32768}
    counted = pd.DataFrame([
        call | {"part": part, "counted_bytes": 1e6, "predicted_bytes": 1e6 * (1 + error),
                "error": error}
        for part, error in (("dense_kernel", -0.5), ("all", -0.01), ("all", 0.03))])
    metered = pd.DataFrame([
        call | {"head_dim": 128, "dtype": "bfloat16", "samples": 0, "measured_j": 0.02,
                "predicted_j": 0.02 * (1 + error), "error": error,
                "error_at_measured_time": error / 2, "measured_w": 400.0, "predicted_w": 420.0}
        for error in (0.05, -0.12, 0.07)])
    return replace(tables, more=tables.more | {"validation_bytes": counted,
                                               "validation_energy": metered})


def test_a_study_of_machines_that_nobody_measured_has_no_such_section():
    assert predicted_measured(View(make_tables(data=DATA[:1]))) is None
    assert predicted_measured(View(with_measured("some_gpu"))) is None


def test_the_sentences_are_those_of_the_points():
    section = predicted_measured(View(with_measured()))
    (said,) = section.answer
    assert said.about == "GPU with HBM3"
    first, apart, second, third = said.sentences
    assert "5 held-out points of 2 kernels" in first
    # sizes 0.004, 0.01, 0.02, 0.2, 0.3: the 0.9 quantile lies 0.6 of the way to the last
    assert "2.0 % in the median, 26.0 % for nine in ten and 30.0 % at most" in first
    assert "s2anta_flash, batch 1, 8,192 tokens" in first
    # of 0.01 and 0.2
    assert ("2 of the points, at settings that nobody had looked at before, are off by 10.5 % in "
            "the median, 18.1 % for nine in ten and 20.0 % at most") in apart
    assert "2 of them are within the noise of their measurement, ±1.0 % in the median" in second
    # the other term has the larger errors but fewer than three points
    assert "the term memory of <b>, off by 1.0 % in the median" in third


def test_without_points_that_nobody_had_seen_nothing_is_said_of_them():
    tables = with_measured()
    seen = tables.more["validation"].assign(unseen=False)
    section = predicted_measured(View(replace(tables, more=tables.more | {"validation": seen})))
    assert len(section.answer[0].sentences) == 3


def test_the_folds_keep_fitted_and_held_out_apart_and_name_the_worst():
    section = predicted_measured(View(with_measured()))
    folds = {fold.title: fold.content for fold in section.folds}
    assert {fold.accelerator for fold in section.folds} == {"gpu_hbm3"}
    fitted = folds["What the parameters were fitted on"]
    assert fitted.rows == (("launch", "fitted on", "24", "3.0 %", "6.0 %", "10.0 %"),)
    worst = folds["The worst points"].rows
    assert [row[4] for row in worst] == ["−30 %", "+20 %", "−2.0 %", "+1.0 %", "+0.40 %"]
    times = folds["Kernel times of this study's points"].rows
    assert times[0][2] == "50.0 µs"
    assert {row[2] for row in times[1:]} == {"–"}


def test_counted_bytes_and_joules_are_said_and_listed_with_signed_errors():
    section = predicted_measured(View(with_bytes_and_joules()))
    counted, metered = section.answer[0].sentences[-2:]
    # of whole calls: 0.01 and 0.03
    assert "2 calls, as the profiler counted them" in counted
    assert "within 2.0 % in the median and 3.0 % at most" in counted
    assert "3 calls" in metered
    assert "off by 7.0 % in the median and 12.0 % at most, 2 of them too high" in metered
    assert "by 3.5 % and 6.0 %" in metered
    folds = {fold.title: fold for fold in section.folds}
    listed = folds["DRAM bytes, predicted and counted"]
    assert listed.accelerator == "gpu_hbm3"
    assert [row[1:] for row in listed.content.rows] == [
        ("dense_kernel", "1.0000 MB", "0.50000 MB", "−50 %"),
        ("all", "1.0000 MB", "0.99000 MB", "−1.0 %"), ("all", "1.0000 MB", "1.0300 MB", "+3.0 %")]
    assert listed.content.marked == {1, 2}
    joules = folds["Joules, predicted and measured"].content.rows
    assert [row[4:6] for row in joules] == [("−12 %", "−6.0 %"), ("+7.0 %", "+3.5 %"),
                                            ("+5.0 %", "+2.5 %")]
    assert joules[0][2:4] == ("20.0 mJ", "17.6 mJ")


@pytest.mark.parametrize("more", [{"validation_bytes": pd.DataFrame()}, {}])
def test_without_counted_bytes_or_joules_of_the_machine_nothing_is_said_of_them(more):
    other = with_bytes_and_joules(machine="some_gpu")
    tables = replace(other, more=other.more | more)
    section = predicted_measured(View(tables))
    assert len(section.answer[0].sentences) == 4
    assert not [fold for fold in section.folds if "predicted and" in fold.title]


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "report.html"
    write_report(with_measured(), path)
    visit = Visit(chromium, path)
    yield visit
    visit.close()
    assert visit.complaints == []


def test_the_figures_draw_every_point_of_the_machine_in_the_filter(page):
    page.set(accelerator=["gpu_hbm3"])
    points = measured_points()
    drawn = [t for t in page.drawn("parity") if t["mode"] == "markers"]
    assert {t["name"] for t in drawn} == {"dense (held out)", "s2anta_flash (held out)"}
    x, y = (sorted(v for t in drawn for v in t[axis]) for axis in "xy")
    # the page carries float32
    assert x == pytest.approx(sorted(points["measured_s"]), rel=1e-6)
    assert y == pytest.approx(sorted(points["predicted_s"]), rel=1e-6)
    errors = sorted(v for t in page.drawn("size_error") if t["mode"] == "markers" for v in t["y"])
    assert errors == pytest.approx(sorted(ERRORS), rel=1e-6)
    assert sum(sum(t["y"]) for t in page.drawn("error_shares")) == len(ERRORS)
    assert sorted(v for t in page.drawn("term_errors") for v in t["x"]) == pytest.approx(
        sorted(ERRORS), rel=1e-6)
    assert "off by 2.0" in page.sentence("parity")


def test_without_a_measured_machine_in_the_filter_the_figures_say_so(page):
    page.set(accelerator=["edge_bf16_7nm_lpddr5"])
    for name in ("parity", "size_error", "error_shares", "term_errors"):
        assert page.drawn(name) == []
        assert page.sentence(name) == "No accelerator in the filter was measured."
