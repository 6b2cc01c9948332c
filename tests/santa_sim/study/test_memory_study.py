import json
import re

import pandas as pd
import pytest

from hw_models.dram import load_dram, simulate
from hw_models.problems import SpecError
from santa_sim.study.__main__ import main
from santa_sim.study.memory_run import run_memory_study, scattered_pieces
from santa_sim.study.memory_spec import load_memory_study

TEXT = """\
name: scatter
title: Scattered reads
level: memory
memories: [hbm3e_6400, hbm2e_3200]
bytes_per_activation: [32, 64, 128, 256, 1024, 2048]
pieces_per_channel: 300
"""
# the derivation from Ayna's HBM3E (1716 pJ per activation, 1090 pJ per 32 B of random data,
# CMU-SAFARI/HBM-Power) and from O'Connor's HBM2 (909 pJ; 2.24 + 0.30 pJ/bit, MICRO 2017)
PUBLISHED = {
    ("hbm3e_6400", 32): 10.96, ("hbm3e_6400", 64): 7.61, ("hbm3e_6400", 128): 5.93,
    ("hbm3e_6400", 256): 5.09, ("hbm3e_6400", 1024): 4.47, ("hbm2e_3200", 32): 6.09,
    ("hbm2e_3200", 64): 4.32, ("hbm2e_3200", 128): 3.43, ("hbm2e_3200", 256): 2.98,
    ("hbm2e_3200", 1024): 2.65,
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("memory") / "scatter.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def frame(file):
    return run_memory_study(load_memory_study(file))


@pytest.mark.parametrize("case", PUBLISHED)
def test_energy_per_bit_against_bytes_per_activation_is_that_of_the_published_constants(
    case, frame
):
    row = frame.set_index(["memory", "bytes_per_activation"]).loc[case]
    # the published figures have two digits after the point, some of them cut off; two pieces that
    # meet in a row, or a refresh within one, change an activation in some thousands
    assert row["closed_form_pj_per_bit"] == pytest.approx(PUBLISHED[case], abs=0.01)
    assert row["pj_per_bit"] == pytest.approx(PUBLISHED[case], rel=2e-3, abs=0.01)
    assert row["activations"] == pytest.approx(row["pieces"], rel=2e-3)
    assert row["low_pj_per_bit"] < row["pj_per_bit"] < row["high_pj_per_bit"]
    assert row["all_pj_per_bit"] > row["pj_per_bit"]


def test_more_bytes_per_activation_give_more_bandwidth_up_to_where_the_bus_is_full(frame):
    done = frame[frame["status"] == "ok"]
    for _, rows in done.groupby("memory"):
        share = rows.set_index("bytes_per_activation")["share_of_peak"]
        assert share[32] < 0.6 * share[64] + 0.1
        assert share[32] < share[64] < share[128]
        assert share.max() > 0.7


def test_a_piece_that_no_row_holds_is_a_row_that_says_so(frame):
    left = frame[frame["status"] != "ok"]
    assert list(left["memory"]) == ["hbm3e_6400", "hbm2e_3200"]
    assert left["error"].str.contains("2048 bytes are no aligned part of a row of 1024 bytes").all()
    assert left["pj_per_bit"].isna().all()


def test_pieces_are_aligned_parts_of_single_rows():
    memory = load_dram("lpddr5_6400")
    requests = scattered_pieces(memory, 128, 50, 3)
    assert len(requests) == 200
    report = simulate(memory, requests, record_commands=True)
    opened = {
        (c, r["bank"], r["row"]) for c, log in enumerate(report.commands) for r in log
        if r["kind"] == 0
    }
    assert len(opened) == 50


def test_one_seed_gives_one_table(file, frame):
    pd.testing.assert_frame_equal(frame, run_memory_study(load_memory_study(file)))
    other = run_memory_study(load_memory_study(file, ["seed=1"]))
    assert not frame["bytes_per_s"].equals(other["bytes_per_s"])


def test_the_command_writes_a_folder_with_a_report_that_loads_nothing(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(file), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "32 bytes per activation cost 11.0 pJ/bit, 2.5 times the 4.47 of 1024" in said
    assert {p.name for p in out.iterdir()} - {".run"} == {
        "results.parquet", "results.csv", "study.yaml", "provenance.json", "report.html"}
    assert len(pd.read_parquet(out / "results.parquet")) == 12
    assert json.loads((out / "provenance.json").read_text())["run"]["command"].endswith(str(out))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:|#)', page.replace(page[page.index("<script>"):
                         page.index("</head>")], ""))
    again = run_memory_study(load_memory_study(out / "study.yaml"))
    pd.testing.assert_frame_equal(again, pd.read_parquet(out / "results.parquet"))
    assert main([str(file), "--dry-run"]) == 0
    assert "12 result rows -> runs/scatter" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [("memories=[hbm3e_640]", "did you mean 'hbm3e_6400'?"), ("queue=0", "queue"),
     ("memories=[hbm3e_6400, hbm3e_6400]", "'hbm3e_6400' is listed twice"),
     ("bytes_per_activation=[0]", "bytes_per_activation[0]"), ("page=ajar", "page"),
     ("memory=[hbm3e_6400]", "unknown key; did you mean 'memories'?")],
)
def test_what_cannot_be_run_is_refused_with_its_place(file, change, message, capsys):
    with pytest.raises(SpecError, match=re.escape(message)):
        load_memory_study(file, [change])
    assert main([str(file), "--set", change]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.browser
def test_the_report_draws_both_figures(chromium, file, tmp_path):
    out = tmp_path / "out"
    main([str(file), "--out", str(out)])
    page = chromium.new_page()
    complaints = []
    page.on("console", lambda m: complaints.append(m.text))
    page.on("pageerror", lambda e: complaints.append(str(e)))
    page.goto((out / "report.html").as_uri())
    page.wait_for_selector(".js-plotly-plot .scatterlayer")
    points = page.evaluate("() => ['energy', 'bandwidth'].map((id) => "
                           "document.getElementById(id).data.map((t) => t.y.length))")
    page.close()
    assert points == [[5, 5], [5, 5]]
    assert complaints == []


def test_a_level_that_is_none_is_told_the_nearest_of_all(tmp_path, capsys):
    path = tmp_path / "scatter.yaml"
    path.write_text(TEXT.replace("level: memory", "level: memry"), encoding="utf-8")
    assert main([str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{path}:3: level: got 'memry'; did you mean 'memory'?")
    assert said.count("\n") == 1
