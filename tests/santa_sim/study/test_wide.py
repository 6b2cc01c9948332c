import pandas as pd
import pytest

from santa_sim.study import __main__ as command
from santa_sim.study import load, run_study, worker

VARIED = """\
name: varied
title: Varied machines
level: LEVEL
seeds: {count: 2}
data:
  - {kind: synthetic, geometry: smollm2-135m, law: {kind: zipf}, effective_support: 9, context: 300}
methods:
  - name: dense
  - name: s2anta_comb
    grid: {samples: [16, 64]}
  - {name: s2anta_comb, samples: 64, scores: {name: bernoulli_qk, trials: 4, scale: power_of_two}}
accelerators:
  - h200_sxm
  - base: edge_ternary_7nm_lpddr5
    grid:
      memory.peak_bandwidth: [1.0e+10, 1.0e+11]
      buffer.capacity_bytes: [1000, 4194304]
  - base: edge_bf16_7nm_lpddr5
    list:
      - {memory.energy.board.read: 3.0, memory.energy.board.write: 4}
      - {memory.energy.board.read: 30, memory.energy.board.write: 40.0}
"""
ROWS = 4 * (1 + 4 + 2)


@pytest.fixture(params=["sampled", "expected"])
def study(tmp_path, request):
    path = tmp_path / "varied.yaml"
    path.write_text(VARIED.replace("LEVEL", request.param), encoding="utf-8")
    return path


def test_the_wide_table_is_bit_for_bit_the_narrow_one(study, monkeypatch):
    narrow = run_study(study)
    assert narrow.wide is None
    assert len(narrow.frame) == ROWS
    monkeypatch.setattr(load, "WIDE_ROWS", ROWS - 1)
    wide = run_study(study)
    assert wide.wide is not None
    pd.testing.assert_frame_equal(wide.frame, narrow.frame, check_exact=True)
    assert set(wide.tables.points["accelerator"]) == {
        "h200_sxm", "edge_ternary_7nm_lpddr5", "edge_bf16_7nm_lpddr5",
    }


def test_a_wide_run_writes_one_table_and_a_report_of_the_unchanged_machines(
    study, monkeypatch, tmp_path
):
    frame = run_study(study).frame
    monkeypatch.setattr(load, "WIDE_ROWS", ROWS - 1)
    out = tmp_path / "out"
    assert command.main([str(study), "--quiet", "--out", str(out)]) == 0
    pd.testing.assert_frame_equal(
        pd.read_parquet(out / "results.parquet").astype(frame.dtypes), frame, check_exact=True
    )
    assert not (out / "results.csv").exists()
    assert (out / "report.html").exists()
    again = tmp_path / "again"
    assert command.main([str(out / "study.yaml"), "--quiet", "--out", str(again)]) == 0
    assert (again / "results.parquet").read_bytes() == (out / "results.parquet").read_bytes()
    assert command.main([str(study), "--quiet", "--out", str(out)]) == 0


def test_a_failed_point_fails_on_every_machine(study, monkeypatch):
    def failing(spec, *rest):
        if spec.name == "dense":
            raise OverflowError("too large")
        return real(spec, *rest)

    level = "run_expected" if "expected" in study.read_text() else "run_sampled"
    real = getattr(worker, level)
    monkeypatch.setattr(worker, level, failing)
    monkeypatch.setattr(load, "WIDE_ROWS", ROWS - 1)
    frame = run_study(study).frame
    bad = frame["status"] == "failed"
    assert bad.sum() == 7
    assert set(frame.loc[bad, "error"]) == {"too large"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("memory.peak_bandwidth:", "memory.peak_bandwith:", "did you mean 'peak_bandwidth'"),
        ("[1.0e+10, 1.0e+11]", "[1.0e+10, fast]", "must be a number, got 'fast'"),
        ("grid:\n      memory.p", "gird:\n      memory.p", "unknown key; did you mean 'grid'"),
        ("base: edge_ternary_7nm_lpddr5\n", "bass: x\n", "unknown key; did you mean 'base'"),
        ("{memory.energy.board.read: 30, memory", "{memory", "must set the same keys"),
        ("[1000, 4194304]", "[1000, 1000]", "capacity_bytes=1000' is listed twice"),
        ("[1000, 4194304]", "[1000, 1000.0]", "should be a valid integer"),
    ],
)
def test_a_wrong_variation_is_one_line_with_its_place(study, old, new, words):
    text = study.read_text()
    assert old in text
    study.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=words) as fault:
        run_study(study)
    assert "varied.yaml:" in str(fault.value)
    assert len(str(fault.value).splitlines()) == 1
