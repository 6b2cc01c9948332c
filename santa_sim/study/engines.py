"""Where chunks are run: here, in threads, in processes, or on a Dask cluster.

Each engine hands out a `concurrent.futures.Executor`; nothing else of it is known to the runner.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from typing import Any, Protocol

from hw_models.problems import Problem, SpecError, did_you_mean
from santa_sim.study.one_thread import ONE_THREAD
from santa_sim.study.process import signals_held_back

ENGINES = ("processes", "threads", "serial", "dask")


class Engine(Protocol):
    """Makes executors of one kind; `workers` is how many chunks run at once."""

    workers: int

    def start(self) -> Executor:
        """Return a fresh executor: at the beginning, or in place of one that broke."""
        ...

    def stop(self) -> None:
        """Let go of the executor at once, without waiting for chunks that are being computed."""
        ...


def usable_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def engine_of(text: str, jobs: int) -> Engine:
    """Return the engine of `serial`, `threads`, `processes`, `dask` or `dask=tcp://host:port`.

    jobs: workers, except for `serial`, which is alone, and a cluster, which has its own. Raises
    `SpecError` for another name, or where Dask is wanted and not installed.
    """
    name, equals, address = text.partition("=")
    if name not in ENGINES or (equals and (name != "dask" or not address)):
        known = (*ENGINES, "dask=tcp://HOST:PORT")
        raise SpecError(Problem(f"--engine: no engine '{text}'{did_you_mean(text, known)}"))
    if name == "dask":
        from santa_sim.study.dask_engine import DaskEngine

        return DaskEngine(address or None, jobs)
    if name == "processes":
        return _Processes(jobs)
    return _InProcess(lambda: ThreadPoolExecutor(jobs), jobs) if name == "threads" else _InProcess(
        SerialExecutor, 1
    )


class SerialExecutor(Executor):
    """Runs each call when it is submitted, in the caller's thread."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Run a call and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _InProcess:
    def __init__(self, make: Callable[[], Executor], workers: int) -> None:
        self._make, self.workers = make, workers
        self._executor: Executor | None = None

    def start(self) -> Executor:
        self._executor = self._make()
        return self._executor

    def stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


class _Processes:
    """Fresh processes (spawn): no thread, lock or signal handler of this one is in them."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._stopping = threading.Event()

    def start(self) -> Executor:
        self.stop()
        with _environment(_worker_environment()):
            pool = _Spawned(
                self.workers, mp_context=get_context("spawn"), initializer=_begin_worker
            )
        self._pool = pool
        return pool

    def stop(self) -> None:
        if self._pool is None:
            return
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:  # what they compute now would be thrown away
            with suppress(OSError, ValueError):
                process.terminate()
        self._pool = None


class _Spawned(ProcessPoolExecutor):
    """Starts its processes with one thread each for every numeric library."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Submit a call; a process that this starts inherits the environment of this moment."""
        # a process that is half started would complain that its runner is gone
        with signals_held_back(), _environment(_worker_environment()):
            return super().submit(fn, *args, **kwargs)


def _worker_environment() -> dict[str, str]:
    """Return one thread per library, and silence of Python's own helper process.

    After an interrupt the runner leaves at once; the helper then frees its semaphores, and would
    say so.
    """
    quiet = "ignore:resource_tracker:UserWarning"
    warnings = ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), quiet)))
    return {**dict.fromkeys(ONE_THREAD, "1"), "PYTHONWARNINGS": warnings}


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    former = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in former.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the runner decides
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this worker when the runner dies, however it dies; it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
