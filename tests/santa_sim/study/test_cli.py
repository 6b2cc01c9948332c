import errno
import json
import os
import re
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from hw_models.problems import SpecError
from santa_sim.study import process
from santa_sim.study.output import OutputFolder

FILES = {
    "results.parquet", "results.csv", "provenance.json", "study.yaml", "report.html",
    "operations.parquet", "streams.parquet", "energy.parquet", "busy.parquet", "constants.parquet",
    # of an accelerator that was measured
    "kernel_times.parquet", "validation.parquet", "validation_bytes.parquet",
    "validation_energy.parquet", "fitted_parts.parquet",
}
TABLES = [name for name in FILES if name.endswith((".parquet", ".csv"))]


def study(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "santa_sim.study", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    text = """\
name: small
title: A small study
data:
  - kind: capture
    capture: smollm2-135m
    traces: [t3]
    steps: [0]
methods:
  - {name: dense}
  - {name: santa_systematic, samples: 64}
accelerators: [h200_sxm, edge_ternary_7nm_sram]
"""
    (folder / "small.yaml").write_text(text, encoding="utf-8")
    return folder, study(folder / "small.yaml", "--set", "seeds.count=2", cwd=folder)


def test_a_run_ends_with_a_table_and_the_place_of_the_report(finished):
    _, run = finished
    assert run.returncode == 0, run.stderr
    heading = next(line for line in run.stdout.splitlines() if "best method" in line)
    assert heading.split()[-3:] == ["dense", "/", "best"]  # the last column is not cut off
    assert "h200_sxm" in run.stdout
    assert run.stdout.splitlines()[-1] == "runs/small/report.html"
    assert "4/4" in run.stderr or "2/2" in run.stderr


def test_the_output_folder_holds_all_files_and_nothing_else(finished):
    folder, _ = finished
    assert {p.name for p in (folder / "runs" / "small").iterdir()} == {*FILES, ".run"}
    assert {p.name for p in (folder / "runs" / "small" / ".run").iterdir()} == {
        "points.log", "lock", "finished.json",
    }
    assert {p.name for p in (folder / "runs").iterdir()} == {"small"}
    report = (folder / "runs" / "small" / "report.html").read_text(encoding="utf-8")
    assert "A small study" in report


def test_a_second_run_gives_the_same_tables_byte_for_byte(finished):
    folder, _ = finished
    again = study("small.yaml", "--set", "seeds.count=2", "--out", "again", "--jobs", 1, "--quiet",
                  cwd=folder)
    assert again.returncode == 0
    assert again.stderr == ""
    for name in TABLES:
        first = (folder / "runs" / "small" / name).read_bytes()
        assert (folder / "again" / name).read_bytes() == first, name


def test_the_resolved_study_runs_to_the_same_tables(finished):
    folder, _ = finished
    run = study("runs/small/study.yaml", "--out", "resolved", "--quiet", cwd=folder)
    assert run.returncode == 0
    assert (folder / "resolved" / "results.csv").read_bytes() == (
        folder / "runs" / "small" / "results.csv"
    ).read_bytes()


def test_parquet_and_csv_hold_the_same_table(finished):
    folder, _ = finished
    parquet = pd.read_parquet(folder / "runs" / "small" / "results.parquet")
    csv = pd.read_csv(folder / "runs" / "small" / "results.csv")
    assert list(parquet.columns) == list(csv.columns)
    assert len(parquet) == len(csv) == 4
    assert (parquet["rel_error"].to_numpy() == csv["rel_error"].to_numpy()).all()


def test_provenance_says_how_it_was_made(finished):
    folder, _ = finished
    record = json.loads((folder / "runs" / "small" / "provenance.json").read_text())
    assert record["study"]["overrides"] == ["seeds.count=2"]
    assert record["study"]["seeds"] == {"first": 0, "count": 2}
    assert "--set seeds.count=2" in record["run"]["command"]
    assert record["code"]["packages"]["numba"]
    assert set(record["machine"]) == {"python", "platform", "processor", "cores"}


def test_a_dry_run_says_what_it_would_do_and_does_nothing(finished, tmp_path):
    folder, _ = finished
    run = study(folder / "small.yaml", "--dry-run", cwd=tmp_path)
    assert run.returncode == 0
    assert "2 points, 4 result rows -> runs/small" in run.stdout
    assert re.search(r"about \d+ s, [\d.]+ GB of memory, \d+ MB of disk", run.stdout)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("samples: 64", "samples: 0"), "small.yaml:10: methods[1].samples: "),
        (("h200_sxm", "h200"), "small.yaml:11: accelerators[0]: "),
        (("traces: [t3]", "traces: [t4]"), "no trace 't4'"),
        (("name: small", "name: Small Study"), "small.yaml:1: name: "),
    ],
)
def test_bad_input_is_one_line_and_exit_2_and_nothing_is_written(finished, tmp_path, change, words):
    folder, _ = finished
    text = (folder / "small.yaml").read_text(encoding="utf-8")
    (tmp_path / "small.yaml").write_text(text.replace(*change), encoding="utf-8")
    run = study("small.yaml", cwd=tmp_path)
    assert run.returncode == 2
    assert words in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert run.stdout == ""
    assert [p.name for p in tmp_path.iterdir()] == ["small.yaml"]


@pytest.mark.parametrize("arguments", [["--jobs", "0"], ["--jobs", "two"], ["--sett", "a=1"], []])
def test_a_wrong_command_line_is_exit_2(arguments):
    run = study(*arguments, "x.yaml") if arguments else study()
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere/out"])
def test_a_folder_that_cannot_be_written_is_known_before_the_work(finished, tmp_path, place):
    folder, _ = finished
    (tmp_path / "file").write_text("keep me")
    run = study(folder / "small.yaml", "--out", place, cwd=tmp_path)
    assert run.returncode == 2
    assert "cannot write the output folder" in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert (tmp_path / "file").read_text() == "keep me"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_other_files_in_the_output_folder_stay(finished, tmp_path):
    folder, _ = finished
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    (tmp_path / "out" / "results.csv").write_text("old")
    run = study(folder / "small.yaml", "--out", tmp_path / "out", "--quiet", cwd=tmp_path)
    assert run.returncode == 0
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "out" / "results.csv").read_text() != "old"


def test_a_failed_point_is_exit_1_and_the_rest_is_written(finished, tmp_path):
    folder, _ = finished
    # a sitecustomize makes one method fail inside the real program
    (tmp_path / "sitecustomize.py").write_text(
        "import santa_sim.study.worker as worker\n"
        "real = worker.run_sampled\n"
        "def failing(method, *rest):\n"
        "    if method.name == 'dense':\n"
        "        raise OverflowError('too large')\n"
        "    return real(method, *rest)\n"
        "worker.run_sampled = failing\n"
    )
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    run = study(folder / "small.yaml", "--quiet", cwd=tmp_path, PYTHONPATH=paths)
    assert run.returncode == 1, run.stderr
    assert "dense on smollm2-135m t3 failed: too large" in run.stderr
    frame = pd.read_csv(tmp_path / "runs" / "small" / "results.csv")
    assert sorted(frame["status"]) == ["failed", "failed", "ok", "ok"]
    assert "2 of 4 result rows failed" in run.stderr
    # what failed is not taken for done: without the fault the same command completes the study
    again = study(folder / "small.yaml", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "1 of 2 points are there, 1 to do" in again.stderr
    assert set(pd.read_csv(tmp_path / "runs" / "small" / "results.csv")["status"]) == {"ok"}


def test_a_reader_who_stops_early_is_no_fault(finished, tmp_path):
    folder, _ = finished
    shell = f"{sys.executable} -m santa_sim.study {folder}/small.yaml --quiet --out out | true; " \
        "exit ${PIPESTATUS[0]}"
    run = subprocess.run(["/bin/bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {*FILES, ".run"}


def test_a_stdout_that_is_not_utf8_gets_escapes(finished, tmp_path):
    folder, _ = finished
    run = study(folder / "small.yaml", "--quiet", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert run.returncode == 0, run.stderr
    assert r"\xb5J" in run.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_leaves_nothing(finished, tmp_path, number):
    folder, _ = finished
    arguments = [folder / "small.yaml", "--set", "seeds.count=100000", "--out", "a/b"]
    process = subprocess.Popen(
        [sys.executable, "-m", "santa_sim.study", *map(str, arguments)], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # under nohup or in the background a test would hand down "ignore this signal"
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    while not list(tmp_path.glob("a/b/.run/staging")):  # until the work has begun
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.endswith("interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", ["folder", "link"])
def test_a_place_that_only_looks_free_is_known_before_the_work(finished, tmp_path, make):
    folder, _ = finished
    if make == "folder":
        (tmp_path / "out" / "report.html").mkdir(parents=True)
    else:
        (tmp_path / "out").symlink_to("nowhere")
    run = study(folder / "small.yaml", "--out", "out", cwd=tmp_path)
    assert run.returncode == 2
    assert run.stderr.startswith("out: cannot write the output folder: ")
    assert len(run.stderr.splitlines()) == 1


def test_a_run_without_a_report_removes_that_of_an_earlier_run(tmp_path):
    (tmp_path / "report.html").write_text("old")
    with OutputFolder(tmp_path) as output:
        (output.staging / "results.csv").write_text("new")
        output.publish(None)
    assert {p.name for p in tmp_path.iterdir()} == {"results.csv", ".run"}


def test_a_full_disk_leaves_nothing(tmp_path):
    def write():
        with OutputFolder(tmp_path / "a" / "b") as output:
            (output.staging / "results.csv").write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(SpecError, match="cannot write the output folder: No space left"):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_study_from_a_pipe_is_recorded_whole(finished, tmp_path):
    folder, _ = finished
    shell = f"{sys.executable} -m santa_sim.study <(cat {folder}/small.yaml) --quiet --out out"
    run = subprocess.run(["/bin/bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["study"]["text"] == (folder / "small.yaml").read_text()


def test_a_signal_in_a_step_that_must_not_be_left_halfway_waits_for_its_end():
    done = []

    def work():
        with process.raising_on_signals():
            with process.signals_held_back():
                os.kill(os.getpid(), signal.SIGTERM)
                done.append("the rest of the step")
            done.append("never")

    with pytest.raises(process.Stopped):
        work()
    assert done == ["the rest of the step"]
