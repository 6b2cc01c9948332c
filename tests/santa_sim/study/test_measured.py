import subprocess
import sys

import pytest

from hw_models.catalogue import load_accelerator
from santa_sim.study import run_study
from santa_sim.study.measured import measured_tables

STUDY = """\
name: measured
title: Kernels of known shapes
level: expected
data:
  - kind: synthetic
    geometry: llama-3.1-8b
    law: {kind: zipf}
    effective_support: 400
    context: 8192
    simulated_kv_heads: 1
methods:
  - {name: dense}
  - {name: s2anta_flash, samples: 512, tile: 64}
  - {name: s2anta_comb, samples: 64, tile: 256}
  - {name: santa_systematic, samples: 64}
accelerators: [h200_sxm, edge_bf16_7nm_lpddr5]
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("measured") / "study.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return run_study(path)


def test_methods_with_a_kernel_get_its_predicted_time_and_others_say_why_not(result):
    times = result.measured["kernel_times"].set_index("point")
    assert set(times["accelerator"]) == {"h200_sxm"}
    assert list(times["kernel"]) == ["dense", "s2anta_flash", "s2anta_comb", ""]
    assert times["kernel_time_s"].isna().tolist() == [False, False, False, True]
    assert times["note"].iloc[3] == "no kernel runs this method"
    assert times["kernel_bound"].iloc[0].endswith("of dense_kernel")


def test_a_kernel_takes_longer_than_its_bytes_at_the_peak_of_the_memory(result):
    points = result.frame[result.frame["accelerator"] == "h200_sxm"].set_index("point")
    peak = load_accelerator("h200_sxm").memory.peak_bandwidth.interval.nominal
    for row in result.measured["kernel_times"].dropna(subset="kernel_time_s").itertuples():
        assert row.kernel_time_s > points.loc[row.point, "unique_bytes"] / peak


def test_the_validation_has_a_row_for_every_call_that_was_timed_counted_or_metered(result):
    validation = result.measured["validation"]
    assert len(validation) >= 60
    assert (validation["error"] - (validation["predicted_s"] / validation["measured_s"] - 1)
            ).abs().max() < 1e-12
    # every committed file of timed calls, and the points that were opened last
    assert validation["file"].str.split("_").str[1].unique().tolist() == [
        "decode.csv", "energy.csv", "validation.csv"]
    assert set(validation[validation["unseen"]]["file"].str.split("_").str[1]) == {"validation.csv"}
    for name, kind in (("validation_bytes", "bytes"), ("validation_energy", "j")):
        table = result.measured[name]
        measured = table["counted_bytes" if kind == "bytes" else "measured_j"]
        assert len(table) > 10
        assert (table["error"] - (table[f"predicted_{kind}"] / measured - 1)).abs().max() < 1e-12
    parts = result.measured["fitted_parts"]
    assert set(parts["set"]) == {"fitted on", "held out"}


def test_machines_without_a_calibration_add_nothing(result):
    edge = load_accelerator("edge_bf16_7nm_lpddr5")
    assert measured_tables(result.frame, [edge]) == {}


def test_measured_tables_need_neither_torch_nor_triton():
    code = ("import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
            "from santa_sim.study.held_out import TABLES\n"
            "print(*(len(rows('h200_sxm')) for rows in TABLES.values()))")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    times, parts, energies = map(int, done.stdout.split())
    assert times >= 60
    assert min(parts, energies) > 10
