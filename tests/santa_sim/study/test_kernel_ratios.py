from pathlib import Path

import pytest

from gpu_kernels.launches.priced import warm_share
from santa_sim.report.kernel_ratios import kernel_ratios as section
from santa_sim.report.view import View
from santa_sim.study import run_study

STUDY = Path(__file__).parents[3] / "studies" / "rtx_published_ratios.yaml"


@pytest.fixture(scope="module")
def result():
    return run_study(STUDY)


@pytest.fixture(scope="module")
def ratios(result):
    return result.measured["kernel_ratios"]


def test_every_gpu_and_kernel_of_the_study_is_predicted_cold_and_warm(ratios):
    found = ratios.groupby(["accelerator", "kernel"])["l2"].apply(list).to_dict()
    assert found == {(gpu, kernel): ["cold", "warm"]
                     for gpu in ("rtx_6000_ada", "rtx_4090", "rtx_3090")
                     for kernel in ("s2anta_flash", "s2anta_prop", "s2anta_comb")}


def test_published_ratios_stand_beside_the_calls_that_they_were_printed_for(ratios):
    ada = ratios[(ratios["accelerator"] == "rtx_6000_ada") & (ratios["l2"] == "cold")]
    assert ada.set_index("kernel")["published"].dropna().to_dict() == {
        "s2anta_flash": 1.51, "s2anta_prop": 1.5}
    assert ratios[ratios["accelerator"] != "rtx_6000_ada"]["published"].isna().all()


def test_a_ratio_is_within_its_range_and_no_cold_call_beats_the_memory(result, ratios):
    assert (ratios["ratio_low"] <= ratios["dense_over_kernel"]).all()
    assert (ratios["dense_over_kernel"] <= ratios["ratio_high"]).all()
    assert (ratios["kernel_time_low_s"] <= ratios["kernel_time_s"]).all()
    assert (ratios["kernel_time_s"] <= ratios["kernel_time_high_s"]).all()
    for row in ratios[ratios["l2"] == "cold"].itertuples():
        peak = next(one for one in result.accelerators if one.name == row.accelerator
                    ).memory.peak_bandwidth.interval
        assert row.kernel_time_s > row.memory_s >= row.memory_bytes / peak.nominal
        # a kernel that reads less and does more gains at most what it does not read
        assert row.dense_over_kernel <= 1.001 * row.dense_memory_bytes / row.memory_bytes


def test_the_report_says_how_far_the_published_ratios_are_and_what_a_warm_l2_would_give(result):
    tables = result.report_tables({}, "")
    found = section(View(tables))
    said = " ".join(sentence for one in found.answer for sentence in one.sentences)
    assert "published 1.51" in said
    assert "published 1.50," in said
    assert "nearer to that of a cold L2" in said


def test_an_undivided_l2_keeps_all_that_fits_and_a_divided_one_half():
    assert [warm_share(x, 100.0, halves=False) for x in (50.0, 100.0, 101.0)] == [1.0, 1.0, 0.0]
    assert [warm_share(x, 100.0) for x in (50.0, 75.0, 100.0)] == [1.0, 0.5, 0.0]
