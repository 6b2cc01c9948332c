"""docs/laptop_to_cluster.md, tried: a scheduler and two workers that are reached over TCP."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("distributed")

from santa_sim.study import __main__ as command

STUDY = """\
name: clustered
title: On a cluster
seeds: {count: 40}
data:
  - {kind: capture, capture: smollm2-135m, traces: [t3], steps: [0, 2]}
  - {kind: synthetic, geometry: smollm2-135m, law: {kind: zipf}, effective_support: 9, context: 900}
methods:
  - name: s2anta_comb
    grid: {samples: [16, 32, 64, 128, 256]}
accelerators: [h200_sxm]
"""


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, arguments)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                      "--scheduler-file", file)
    deadline = time.monotonic() + 60
    while not file.exists() or not file.read_text().strip():
        assert scheduler.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    address = json.loads(file.read_text())["address"]
    workers = [
        start("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
              "--local-directory", folder)
        for _ in range(2)
    ]
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "clustered.yaml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_a_cluster_gives_the_bytes_of_a_laptop_even_if_a_worker_dies(
    cluster, study, tmp_path, monkeypatch
):
    address, workers = cluster
    assert address.startswith("tcp://")
    monkeypatch.setattr("santa_sim.study.chunks.CHUNK_SECONDS", 0.0)
    wait_for_workers(address, 2)
    threading.Timer(1.0, lambda: os.kill(workers[0].pid, signal.SIGKILL)).start()
    assert command.main([
        str(study), "--quiet", "--out", str(tmp_path / "far"), "--engine", f"dask={address}"
    ]) == 0
    assert command.main([
        str(study), "--quiet", "--out", str(tmp_path / "near"), "--engine", "serial"
    ]) == 0
    for name in ("results.parquet", "results.csv", "operations.parquet", "energy.parquet"):
        assert (tmp_path / "far" / name).read_bytes() == (tmp_path / "near" / name).read_bytes()


def wait_for_workers(address, count):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


def test_a_scheduler_that_does_not_answer_is_one_line(study, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("santa_sim.study.dask_engine.CONNECT_SECONDS", 1)
    assert command.main([
        str(study), "--quiet", "--out", str(tmp_path / "out"), "--engine", "dask=tcp://127.0.0.1:9"
    ]) == 2
    said = capsys.readouterr().err
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["dusk", "dask=", "threads=2", "ray"])
def test_an_unknown_engine_is_one_line(study, tmp_path, capsys, name):
    assert command.main([str(study), "--out", str(tmp_path / "out"), "--engine", name]) == 2
    said = capsys.readouterr().err
    assert f"no engine '{name}'" in said
    assert len(said.splitlines()) == 1
