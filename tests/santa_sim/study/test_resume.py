"""Runs that are killed, disturbed or repeated end with the same bytes as one that was let alone."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from slow_runner import slow_run

from santa_sim.data.capture import load_capture
from santa_sim.study import __main__ as command
from santa_sim.study import run_study, worker
from santa_sim.study.engines import SerialExecutor

TABLES = ("results.parquet", "results.csv", "operations.parquet", "streams.parquet",
          "energy.parquet", "busy.parquet", "constants.parquet", "study.yaml")

SMALL = """\
name: killed
title: A study that is killed
seeds: {count: 2}
data:
  - kind: synthetic
    geometry: smollm2-135m
    law: {kind: zipf}
    effective_support: 40
    grid: {context: [300, 500, 700]}
methods:
  - name: dense
  - name: s2anta_comb
    grid: {samples: [16, 32, 64]}
  - {name: s2anta_flash, samples: 64}
accelerators: [edge_ternary_7nm_lpddr5, h200_sxm]
"""
POINTS = 15


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "killed.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def run(study, out, *more):
    return command.main([str(study), "--quiet", "--out", str(out), *more])


@pytest.fixture(scope="module")
def undisturbed(study, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert run(study, out) == 0
    return {name: (out / name).read_bytes() for name in TABLES}


def assert_same(out, undisturbed):
    for name, content in undisturbed.items():
        assert (out / name).read_bytes() == content, name


@pytest.fixture(scope="module")
def forks():
    """Processes that have everything loaded and compiled, forked from one that has no threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANTA_SIM_WARM", "1")
        # the fork server looks for what it loads in PYTHONPATH alone
        patch.setenv("PYTHONPATH", os.pathsep.join([*sys.path, str(Path(__file__).parent)]))
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["slow_runner"])
        process = context.Process(target=print)
        process.start()
        process.join()
    return context


def test_killed_at_20_random_moments_and_resumed(study, undisturbed, forks, tmp_path, capfd):
    began = time.monotonic()
    first = forks.Process(target=slow_run, args=(study, tmp_path / "first"))
    first.start()
    first.join(60)
    whole = time.monotonic() - began
    assert first.exitcode == 0
    assert_same(tmp_path / "first", undisturbed)
    moments = random.Random(7)
    out = tmp_path / "out"
    finished = killed = 0
    while killed < 20:
        process = forks.Process(target=slow_run, args=(study, out))
        process.start()
        process.join(moments.uniform(0.1 * whole, whole))
        if process.exitcode is None:
            process.kill()
            process.join(60)
            killed += 1
            continue
        assert process.exitcode == 0
        assert_same(out, undisturbed)
        shutil.rmtree(out)
        finished += 1
        assert finished < 60, "no run could be killed"
    assert run(study, out) == 0
    assert_same(out, undisturbed)
    assert not (out / ".run" / "staging").exists()
    assert "Traceback" not in capfd.readouterr().err


def test_worker_processes_that_are_killed_lose_no_row(study, undisturbed, tmp_path):
    stop = threading.Event()
    killed = []

    def killer():
        chance = random.Random(3)
        while not stop.is_set() and len(killed) < 2:
            time.sleep(chance.uniform(0.5, 2.0))
            for child in multiprocessing.active_children():
                os.kill(child.pid, signal.SIGKILL)
                killed.append(child.pid)
                break

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        status = run(study, tmp_path / "out", "--engine", "processes", "--jobs", "2",
                     "--set", "seeds.count=400")
    finally:
        stop.set()
        thread.join()
    assert killed, "the run was over before a worker could be killed"
    if status == 1:  # both deaths fell before the first chunk was done: said, kept, gone on with
        status = run(study, tmp_path / "out", "--set", "seeds.count=400")
    assert status == 0
    assert run(study, tmp_path / "alone", "--set", "seeds.count=400") == 0
    for name in TABLES:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_workers_that_die_over_and_over_end_the_run_and_keep_what_is_done(
    study, undisturbed, tmp_path, monkeypatch, capsys
):
    from concurrent.futures import BrokenExecutor

    done = []

    def dying(self, fn, /, *args):
        if len(done) >= 4:
            raise BrokenExecutor("a worker died")
        done.append(args)
        return real(self, fn, *args)

    real = SerialExecutor.submit
    monkeypatch.setattr(SerialExecutor, "submit", dying)
    monkeypatch.setattr("santa_sim.study.chunks.CHUNK_SECONDS", 0.0)
    out = tmp_path / "out"
    assert run(study, out, "--engine", "serial") == 1
    said = capsys.readouterr().err
    assert "died twice" in said
    assert "4 finished points are kept" in said
    monkeypatch.undo()
    assert run(study, out, "--resume") == 0
    assert_same(out, undisturbed)


def test_a_finished_study_is_not_run_again_and_says_so(study, undisturbed, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(study, out) == 0
    before = {p: p.stat().st_mtime_ns for p in out.iterdir() if p.is_file()}
    capsys.readouterr()
    assert run(study, out) == 0
    assert "finished; nothing to do (--force: again)" in capsys.readouterr().out
    assert {p: p.stat().st_mtime_ns for p in out.iterdir() if p.is_file()} == before
    assert run(study, out, "--force") == 0
    assert (out / "results.csv").stat().st_mtime_ns > before[out / "results.csv"]
    assert_same(out, undisturbed)


@pytest.mark.parametrize("name", ["results.parquet", "energy.parquet", "report.html"])
def test_a_damaged_result_file_is_written_again_from_the_log(
    study, undisturbed, tmp_path, monkeypatch, name
):
    out = tmp_path / "out"
    assert run(study, out) == 0
    content = (out / name).read_bytes()
    (out / name).write_bytes(content[:100] + b"?" + content[101:])
    monkeypatch.setattr(worker, "run_sampled", None)  # no point may be computed again
    assert run(study, out) == 0
    assert_same(out, undisturbed)


def test_a_changed_energy_constant_recomputes_no_count(tmp_path, study, monkeypatch):
    from hw_models.catalogue import load_accelerator

    accelerator = load_accelerator("h200_sxm").model_dump(mode="json", exclude_none=True)
    mine = tmp_path / "mine.yaml"
    mine.write_text(json.dumps(accelerator), encoding="utf-8")
    text = ["--set", f"accelerators=[{mine}]"]
    out = tmp_path / "out"
    assert run(study, out, *text) == 0
    first = json.loads((out / ".run" / "finished.json").read_text())
    read = accelerator["memory"]["energy"]["board"]["read"]
    for end in ("value", "low", "high"):
        read[end] *= 1.5
    mine.write_text(json.dumps(accelerator), encoding="utf-8")
    before = (out / "results.csv").read_bytes()
    monkeypatch.setattr(worker, "run_sampled", None)
    assert run(study, out, *text) == 0
    assert (out / "results.csv").read_bytes() != before
    second = json.loads((out / ".run" / "finished.json").read_text())
    assert first["identity"] != second["identity"]


def test_a_longer_study_computes_only_what_is_new(study, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(study, out) == 0
    capsys.readouterr()
    longer = tmp_path / "longer.yaml"
    longer.write_text(SMALL.replace(
        "accelerators:", "  - {name: santa_iid, samples: 16}\naccelerators:"
    ), encoding="utf-8")
    assert command.main([str(longer), "--out", str(out)]) == 0
    assert f"{POINTS} of {POINTS + 3} points are there, 3 to do" in capsys.readouterr().err


def test_resume_is_refused_where_there_is_nothing_to_go_on_from(study, tmp_path, capsys):
    assert run(study, tmp_path / "out", "--resume") == 2
    assert "no point of this study is there" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_log_is_said_repaired_and_the_results_are_the_same(
    study, undisturbed, tmp_path, damage, capsys
):
    out = tmp_path / "out"
    assert run(study, out) == 0
    log = out / ".run" / "points.log"
    content = log.read_bytes()
    log.write_bytes(content[:-7] if damage == "cut" else content[:300] + b"#" + content[301:])
    (out / ".run" / "finished.json").unlink()
    capsys.readouterr()
    assert run(study, out) == 0
    assert "its point is computed again" in capsys.readouterr().err
    assert_same(out, undisturbed)
    assert log.stat().st_size == len(content)


def test_a_second_runner_is_refused(study, tmp_path, capsys):
    from santa_sim.study.output import OutputFolder

    with OutputFolder(tmp_path / "out"):
        assert run(study, tmp_path / "out") == 2
        assert f"process {os.getpid()} on " in capsys.readouterr().err
    assert run(study, tmp_path / "out") == 0


def test_a_read_only_folder_is_refused_before_the_work(study, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()

    def denied(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)  # root, as in CI, may write read-only folders
    assert run(study, out) == 2
    assert "cannot write the output folder: Permission denied" in capsys.readouterr().err
    assert list(out.iterdir()) == []


def test_a_disk_that_fills_up_keeps_the_points_before(study, undisturbed, tmp_path, capsys,
                                                      monkeypatch):
    monkeypatch.setattr("santa_sim.study.chunks.CHUNK_SECONDS", 0.0)
    real, calls = os.fsync, []

    def full(handle):
        calls.append(handle)
        if len(calls) > 5:
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    out = tmp_path / "out"
    assert run(study, out, "--engine", "serial") == 2
    assert "cannot write the output folder: No space left" in capsys.readouterr().err
    monkeypatch.undo()
    assert command.main([str(study), "--out", str(out), "--resume"]) == 0
    assert f"5 of {POINTS} points are there" in capsys.readouterr().err
    assert_same(out, undisturbed)


def test_a_hidden_folder_that_is_a_link_is_refused(study, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "staging").mkdir()
    (tmp_path / "out" / ".run").symlink_to(tmp_path / "victim")
    assert run(study, tmp_path / "out") == 2
    assert ".run in it is a link" in capsys.readouterr().err
    assert [p.name for p in (tmp_path / "victim").iterdir()] == ["staging"]


def test_result_files_that_are_links_are_replaced_and_not_followed(study, tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.csv").symlink_to(tmp_path / "victim")
    assert run(study, tmp_path / "out") == 0
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (tmp_path / "out" / "results.csv").is_symlink()


def test_two_datasets_with_the_same_numbers_are_computed_once(study, monkeypatch):
    calls = []
    real = worker.run_sampled
    monkeypatch.setattr(worker, "run_sampled", lambda *a: calls.append(a) or real(*a))
    (trace,) = [t for t in load_capture("smollm2-135m").traces if t.id == "t3"]
    which = "kind: capture, capture: smollm2-135m, traces: [t3], steps: [0]"
    frame = run_study(study, [f"data=[{{{which}}}, {{{which}, layers: [{trace.layer}]}}]"]).frame
    assert len(frame) == 2 * 5 * 2
    assert len(calls) == 5



def test_python_and_the_command_line_write_the_same(study, undisturbed, tmp_path, monkeypatch):
    out = tmp_path / "out"
    result = run_study(study, out=out)
    assert_same(out, undisturbed)
    assert "run_study(" in json.loads((out / "provenance.json").read_text())["run"]["command"]
    monkeypatch.setattr(worker, "run_sampled", None)
    again = run_study(study, out=out)  # finished: nothing is computed, the tables are the same
    pd.testing.assert_frame_equal(again.frame, result.frame, check_exact=True)
    with pytest.raises(ValueError, match="no point of this study is there"):
        run_study(study, out=tmp_path / "other", resume=True)


def test_a_signal_while_the_folder_is_made_leaves_nothing(tmp_path, monkeypatch):
    from santa_sim.study import output
    from santa_sim.study.process import Stopped

    def stopped(path):
        raise Stopped(signal.SIGINT)

    monkeypatch.setattr(output, "ResultLog", stopped)
    with pytest.raises(Stopped):
        output.OutputFolder(tmp_path / "a" / "b").__enter__()
    assert list(tmp_path.iterdir()) == []
