import json
import re

import numpy as np
import pandas as pd
import pytest

from hw_models.problems import SpecError
from santa_sim.event.rows import EVENT_COLUMNS, STEP_COLUMNS, TRACK_COLUMNS
from santa_sim.report.build import report_sections
from santa_sim.report.view import View
from santa_sim.study import run_study
from santa_sim.study.__main__ import main
from santa_sim.study.load import load_study

TEXT = """\
name: in-time
title: In time
level: event
seeds: {count: 1}
data:
  - kind: capture
    capture: smollm2-135m
    traces: [t3]
    steps: [0, 2]
methods:
  - {name: dense, tile: 256}
  - {name: s2anta_comb, samples: 32, tile: 256}
accelerators: [edge_stages_bf16_7nm_lpddr5, edge_stages_bf16_7nm_hbm2e]
event:
  - kv_layout: hnd
    grid:
      depth: [2, 1]
      rates.sampler: [1.6e10, 1.0e9]
  - kv_layout: nhd
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("event") / "study.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(file):
    return run_study(file, engine="serial")


def test_there_is_one_row_per_point_accelerator_and_way_of_running(result):
    events = result.event.tables["events"]
    assert tuple(events.columns) == EVENT_COLUMNS
    assert len(events) == 2 * 2 * 5
    assert (events["status"] == "ok").all()
    assert events.groupby(["point", "accelerator", "run"]).size().max() == 1
    assert list(events["run"][:5]) == [
        "hnd, depth 2, sampler 1.6e+10 op/s", "hnd, depth 2, sampler 1e+09 op/s",
        "hnd, depth 1, sampler 1.6e+10 op/s", "hnd, depth 1, sampler 1e+09 op/s", "nhd",
    ]
    assert result.failed == ()


def test_times_energies_and_shares_are_those_of_a_pipeline(result):
    events = result.event.tables["events"]
    assert (events["event_time_s"] >= events["roofline_time_s"]).all()
    for share in ("memory_share", "bus_share", "bottleneck_share"):
        assert events[share].between(0, 1).all()
    assert (events["board_energy_j"] > events["device_energy_j"]).all()
    assert (events["sram_high_bytes"] <= events["buffer_bytes"]).all()
    by_run = events.set_index(["point", "accelerator", "run"])["event_time_s"]
    fast, slow = (by_run[:, :, f"hnd, depth 2, sampler {r} op/s"] for r in ("1.6e+10", "1e+09"))
    assert (slow.loc[1] > fast.loc[1]).all()  # sampled values need the sampler
    assert (slow.loc[0] == fast.loc[0]).all()  # dense values do not


def test_states_of_tracks_add_up_to_the_time_of_their_run(result):
    tracks, events = (result.event.tables[name] for name in ("event_tracks", "events"))
    assert tuple(tracks.columns) == TRACK_COLUMNS
    total = tracks[["busy_s", "stalled_s", "blocked_s", "idle_s"]].sum(axis=1)
    joined = tracks.assign(total=total).merge(events, on=["point", "accelerator", "run"])
    assert len(joined) == len(tracks)
    assert np.allclose(joined["total"], joined["event_time_s"], rtol=1e-12, atol=0)


def test_the_first_runs_have_a_timeline(result):
    steps = result.event.tables["event_steps"]
    assert tuple(steps.columns) == STEP_COLUMNS
    assert set(steps["run"]) == {"hnd, depth 2, sampler 1.6e+10 op/s"}
    assert steps.groupby(["point", "accelerator"]).ngroups == 4
    assert (steps["end_s"] >= steps["start_s"]).all()
    names = [e["args"]["name"] for e in result.event.trace if e["name"] == "process_name"]
    assert names[0] == ("dense tile=256 on smollm2-135m t3, edge_stages_bf16_7nm_lpddr5, "
                        "hnd, depth 2, sampler 1.6e+10 op/s")
    assert len(names) == 4


def test_results_do_not_depend_on_the_engine(result, file):
    other = run_study(file, engine="processes", jobs=2)
    for name, table in result.event.tables.items():
        pd.testing.assert_frame_equal(table, other.event.tables[name])
    assert other.event.trace == result.event.trace


def test_the_sampled_tables_are_there_as_at_the_sampled_level(result, file):
    sampled = run_study(file, ["level=sampled", "event=[]"], engine="serial")
    pd.testing.assert_frame_equal(result.frame, sampled.frame)
    assert sampled.event is None


def test_without_ways_of_running_there_is_one(file):
    loaded = load_study(file, ["event=[]"])
    assert [run.model_dump() for run in loaded.study.event] == [
        {"kv_layout": "hnd", "depth": None, "rates": {}}
    ]


def test_the_command_writes_tables_trace_and_report(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([str(file), "--out", str(out), "--quiet", "--engine", "serial"]) == 0
    assert len(pd.read_parquet(out / "events.parquet")) == 20
    trace = json.loads((out / "timeline.json").read_text(encoding="utf-8"))
    assert {e["pid"] for e in trace["traceEvents"]} == {1, 2, 3, 4}
    assert "Which unit holds the pipeline up" in (out / "report.html").read_text(encoding="utf-8")
    # the resolved study runs again to the same
    again = run_study(out / "study.yaml", engine="serial")
    pd.testing.assert_frame_equal(
        again.event.tables["events"], pd.read_parquet(out / "events.parquet")
    )
    capsys.readouterr()


def test_a_run_that_cannot_work_becomes_a_row_that_says_why(file):
    big = run_study(file, ["event=[{depth: 1024}, {depth: 1}]"], engine="serial")
    events = big.event.tables["events"].set_index("run")
    failed = events.loc["hnd, depth 1024"]
    assert (failed["status"] == "failed").all()
    assert failed["error"].str.contains("the smallest value that works is").all()
    assert (events.loc["hnd, depth 1", "status"] == "ok").all()
    assert len(big.failed) == 4
    assert "buffer.capacity_bytes: holds 4,194,304 bytes, and the buffers take" in big.failed[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("accelerators=[h200_sxm]", "h200_sxm has no pipeline, so it cannot be simulated in time"),
        ("event=[{rates: {samplr: 1.0e9}}]", "has no unit 'samplr'; did you mean 'sampler'?"),
        ("event=[{kv_layout: nhdd}]", "did you mean 'nhd'?"),
        ("event=[{depth: 0}]", "event[0].depth"),
        ("event=[{dept: 2}]", "unknown key; did you mean 'depth'?"),
        ("level=sampled", "event: needs level: event; the level is sampled"),
        ("data=[{kind: synthetic, geometry: llama-3.1-8b, law: {kind: zipf}, effective_support: 9, "
         "context: 64, simulated_kv_heads: 2}]", "leave out simulated_kv_heads (got 2)"),
        ("methods=[{name: bernoulli_qk, trials: 4}]", "give bernoulli_qk key_layout: token_major"),
    ],
)
def test_what_cannot_run_in_time_is_refused_with_its_place(file, change, message):
    with pytest.raises(SpecError, match=re.escape(message)) as fault:
        load_study(file, [change])
    assert "study.yaml" in str(fault.value) or "--set" in str(fault.value)


def test_the_report_speaks_of_runs_in_time_only_where_there_are_any(result, file):
    names = [s.name for s in report_sections(View(result.report_tables({}, "")))]
    assert names.index("time") < names.index("pipeline") < names.index("stages")
    assert "timeline" in names
    sampled = run_study(file, ["level=sampled", "event=[]"], engine="serial")
    names = [s.name for s in report_sections(View(sampled.report_tables({}, "")))]
    assert not {"pipeline", "stages", "timeline"} & set(names)
