"""The lock on a run folder: one runner at a time, and none is shut out by a dead one."""

from __future__ import annotations

import errno
import json
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hw_models.problems import Problem, SpecError

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


class RunLock:
    """Holds the file at `path` locked from `take` to `release`.

    The kernel gives the lock back when its process dies, so a file left behind is no obstacle.
    Where the file system has no locks, the process that the file names decides.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recovered = ""
        self._handle: int | None = None

    def take(self) -> None:
        """Take the lock; raises `SpecError` naming pid and host where another runner has it.

        `recovered` then says whose lock this was, if its holder died without giving it back.
        """
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0))
            try:
                locked = _lock(handle)
                holder = _holder(handle)
                if locked is False or (locked is None and _may_live(holder)):
                    raise self._refusal(holder)
                if not _is_still_there(handle, self.path):
                    os.close(handle)
                    continue  # its holder removed the file between our two steps
                if holder:
                    self.recovered = _words(holder)
                _record(handle)
            except BaseException:
                with suppress(OSError):
                    os.close(handle)
                raise
            self._handle = handle
            return

    def release(self) -> None:
        """Give the lock back."""
        if self._handle is not None:
            with suppress(OSError):
                os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None

    def _refusal(self, holder: dict[str, Any]) -> SpecError:
        who = _words(holder) if holder else "another process"
        return SpecError(Problem(
            f"{who} is running a study in this folder; wait for it, stop it, or give another "
            f"folder by --out (the lock: {self.path})", str(self.path.parent.parent),
        ))


def _words(holder: dict[str, Any]) -> str:
    return f"process {holder.get('pid')} on {holder.get('host')} (since {holder.get('since')})"


def _lock(handle: int) -> bool | None:
    """Return whether the lock was got; None where there are no locks."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def _holder(handle: int) -> dict[str, Any]:
    """Return what the holder wrote; empty where it gave the lock back."""
    try:
        data = json.loads(os.pread(handle, 4096, 0) or b"{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _may_live(holder: dict[str, Any]) -> bool:
    if not holder:
        return False
    if holder.get("host") != socket.gethostname():
        return True  # nothing can be known of it from here
    try:
        os.kill(int(holder.get("pid", 0)), 0)
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _is_still_there(handle: int, path: Path) -> bool:
    try:
        there, held = path.stat(), os.fstat(handle)
    except FileNotFoundError:
        return False
    return (there.st_ino, there.st_dev) == (held.st_ino, held.st_dev)


def _record(handle: int) -> None:
    mine = {
        "pid": os.getpid(), "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(mine).encode(), 0)
