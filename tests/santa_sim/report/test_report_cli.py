import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from made_up_run import write_run
from made_up_study import DATA, make_tables

from santa_sim.report.__main__ import main
from santa_sim.report.build import build_html
from santa_sim.report.load import load_run


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    write_run(make_tables(data=DATA[:1]), folder)
    return folder


def test_a_report_is_rebuilt_from_results_alone(tmp_path, capsys):
    folder = tmp_path / "run"
    tables = write_run(make_tables(data=DATA[:1]), folder)
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").read_text(encoding="utf-8") == build_html(tables)
    assert not list(folder.glob(".*"))


def test_out_names_the_file(run, tmp_path):
    assert main([str(run), "--out", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").stat().st_size > 4e6
    assert not (run / "report.html").exists()


def test_failed_points_are_left_out_and_further_tables_come_along(run):
    points = pd.read_parquet(run / "results.parquet")
    points.loc[points["method"] == "dense", "status"] = "failed"
    points.to_parquet(run / "results.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(run / "measured.parquet")
    tables = load_run(run)
    assert "dense" not in set(tables.points["method"])
    assert list(tables.more) == ["measured"]


def lose(name):
    return lambda run: (run / name).unlink()


def damage(name):
    return lambda run: (run / name).write_bytes(b"PAR1 no")


def old(run):
    energy = pd.read_parquet(run / "energy.parquet").drop(columns="constant")
    energy.to_parquet(run / "energy.parquet")


def nothing_computed(run):
    points = pd.read_parquet(run / "results.parquet").assign(status="failed")
    points.to_parquet(run / "results.parquet")


def other_table(run):
    shutil.copy(run / "energy.parquet", run / "results.parquet")


def blocked(run):
    (run / "report.html").mkdir()


@pytest.mark.parametrize(("fault", "said"), [
    (shutil.rmtree, r"run: is not the folder of a run"),
    (lose("busy.parquet"), r"busy\.parquet: is not there; a run is a folder"),
    (damage("streams.parquet"), r"streams\.parquet: cannot be read"),
    (lose("provenance.json"), r"provenance\.json: is not there"),
    (damage("provenance.json"), r"provenance\.json:1: is no JSON"),
    (lose("study.yaml"), r"study\.yaml: is not there"),
    (old, r"run: table energy lacks the columns constant"),
    (nothing_computed, r"run: holds no point that could be computed"),
    (other_table, r"results\.parquet: lacks the column status"),
    (blocked, r"report\.html: cannot be written: Is a directory"),
], ids=lambda v: v if isinstance(v, str) else getattr(v, "__name__", "fault"))
def test_a_fault_is_one_line_with_the_file(run, capsys, fault, said):
    fault(run)
    assert main([str(run)]) == 2
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert error.count("\n") == 1
    assert not run.exists() or not list(run.glob(".*"))


@pytest.mark.usefixtures("chromium")
def test_figures_are_exported_as_they_look_in_a_view(run, tmp_path):
    # a process of its own, since this one drives a browser already
    command = [sys.executable, "-m", "santa_sim.report", str(run), "--svg", str(tmp_path / "svg"),
               "--view", "?context=2048&method=dense"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _, *files = map(Path, done.stdout.splitlines())
    assert {f.stem for f in files} >= {"pareto", "energy", "time", "roofline", "tornado"}
    assert all(f.read_text(encoding="utf-8").startswith("<svg") for f in files)
    text = (tmp_path / "svg" / "energy.svg").read_text(encoding="utf-8")
    assert "main memory read" in text
    assert "dense" in text
    assert "santa_iid" not in text


@pytest.mark.usefixtures("chromium")
def test_a_view_without_any_point_is_refused_and_leaves_no_folder(run, tmp_path):
    command = [sys.executable, "-m", "santa_sim.report", str(run), "--png", str(tmp_path / "png"),
               "--view", "?method=nonsense"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2, done.stdout
    assert "no figure is in the view" in done.stderr
    assert not (tmp_path / "png").exists()


def test_without_a_browser_the_line_says_what_to_install(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main([str(run), "--png", str(tmp_path / "png")]) == 2
    assert "none of chromium, chromium-browser" in capsys.readouterr().err
    assert not (tmp_path / "png").exists()
