import errno
import json
import os
import socket
import subprocess
import sys

import pytest

from hw_models.problems import SpecError
from santa_sim.study.run_lock import RunLock

fcntl = pytest.importorskip("fcntl")

HOLD = """
import sys, time
from pathlib import Path
from santa_sim.study.run_lock import RunLock
lock = RunLock(Path(sys.argv[1])); lock.take(); print("held", flush=True); time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "lock"


@pytest.fixture
def holder(path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_second_is_refused_with_pid_and_host_of_the_first(path, holder):
    with pytest.raises(SpecError) as refused:
        RunLock(path).take()
    assert f"process {holder.pid} on {socket.gethostname()} (since 20" in str(refused.value)
    assert "--out" in str(refused.value)


def test_the_lock_of_a_killed_process_is_taken_over_and_said(path, holder):
    holder.kill()
    holder.wait()
    lock = RunLock(path)
    lock.take()
    assert f"process {holder.pid} on {socket.gethostname()}" in lock.recovered
    lock.release()


def test_a_lock_given_back_leaves_nothing_to_recover(path):
    for _ in range(2):
        lock = RunLock(path)
        lock.take()
        assert lock.recovered == ""
        lock.release()


def without_locks(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.parametrize(
    ("host", "pid", "refused"),
    [(None, None, True), ("elsewhere", 1, True), (None, 2**22 + 1, False),
     (None, "x", False), (None, 10**30, False)],
)
def test_without_file_locks_the_named_process_decides(path, monkeypatch, host, pid, refused):
    without_locks(monkeypatch)
    pid = os.getpid() if pid is None else pid
    path.write_text(json.dumps({"host": host or socket.gethostname(), "pid": pid}))
    lock = RunLock(path)
    if refused:
        with pytest.raises(SpecError, match=f"process {pid} on "):
            lock.take()
    else:
        lock.take()
        assert f"process {pid}" in lock.recovered
        lock.release()


@pytest.mark.parametrize("junk", ["", "{", "[]", "\0" * 100])
def test_a_lock_file_with_junk_is_no_obstacle(path, junk):
    path.write_text(junk)
    lock = RunLock(path)
    lock.take()
    lock.release()


def test_a_link_is_not_followed(path, tmp_path):
    path.symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match="symbolic link"):
        RunLock(path).take()
    assert not (tmp_path / "victim").exists()
