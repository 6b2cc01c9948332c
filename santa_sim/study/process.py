"""The program among others: signals that stop it, and a stdout that may be closed or not UTF-8."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

from hw_models.problems import Problem, SpecError

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Stopped(KeyboardInterrupt):
    """A signal asked the program to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextmanager
def raising_on_signals() -> Iterator[None]:
    """Raise `Stopped` at the first interrupt, termination or hang-up, so that files are tidied.

    The next one ends the program at once: what is done is on the disk already. A signal that the
    caller ignores, such as a hang-up under nohup, stays ignored. Only the main thread can do this.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    stopping: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        if stopping:
            os._exit(128 + number)
        stopping.append(number)
        if _held_back:
            _held_back[-1].append(number)
        else:
            raise Stopped(number)

    former = {each: signal.getsignal(each) for each in _SIGNALS}
    former = {each: handler for each, handler in former.items() if handler != signal.SIG_IGN}
    for each in former:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


_held_back: list[list[int]] = []


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Raise `Stopped` after the block and not within it: for steps that must not be left halfway.

    Does so under `raising_on_signals` only, and in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    _held_back.append(came)
    try:
        yield
    finally:
        _held_back.pop()
    if came:
        raise Stopped(came[0])


@contextmanager
def lenient_stdout() -> Iterator[None]:
    """Print what the encoding of stdout lacks as escapes, and end quietly if nobody reads on.

    Raises `SpecError` if stdout cannot be written, for example to a full disk.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.stdout is None:  # closed by the caller
        with Path(os.devnull).open("w", encoding="utf-8") as sys.stdout:
            yield
        return
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # what is still buffered would fail again when Python exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise SpecError(Problem(f"cannot write to stdout: {error.strerror}")) from None


def leave(status: int) -> None:
    """End the program; after an interrupt at once, without waiting for threads that compute."""
    if status > 128:
        os._exit(status)
    sys.exit(status)
