"""Sends chunks to an engine and takes in what comes back, whatever becomes of the workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait

from santa_sim.study.engines import Engine
from santa_sim.study.worker import Chunk, ChunkDone, run_chunk


class WorkersLostError(RuntimeError):
    """Workers died, and died again before they had finished anything more."""


Next = Callable[[], Chunk | None]
Take = Callable[[Chunk, ChunkDone], None]


def dispatch(engine: Engine, following: Next, take: Take) -> None:
    """Run every chunk that `following` gives until it gives None; hand each result to `take`.

    `take` is called in this thread, in the order in which chunks finish. If the workers die, a new
    executor gets the chunks that were on their way; raises `WorkersLostError` if it dies too before
    a single chunk is done. On any way out, what is finished has been taken.
    """
    again: deque[Chunk] = deque()
    waiting: dict[Future[ChunkDone], Chunk] = {}
    progressed = True
    executor = engine.start()
    ahead = engine.workers if engine.workers == 1 else engine.workers + 2
    try:
        while True:
            while len(waiting) < ahead:
                chunk = again.popleft() if again else following()
                if chunk is None:
                    break
                try:
                    waiting[executor.submit(run_chunk, chunk)] = chunk
                except BrokenExecutor:
                    again.appendleft(chunk)
                    break
            if not waiting and not again:
                return
            lost = not waiting
            finished = wait(waiting, return_when=FIRST_COMPLETED).done
            for future in sorted(finished, key=list(waiting).index):
                chunk = waiting.pop(future)
                if _is_lost(future):
                    lost = True
                    again.append(chunk)
                    continue
                take(chunk, future.result())
                progressed = True
            if lost:
                if not progressed:
                    raise WorkersLostError(
                        "the worker processes died twice without finishing anything in between"
                    )
                again.extend(waiting.values())
                waiting.clear()
                progressed = False
                executor = engine.start()
    finally:
        for future, chunk in waiting.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                take(chunk, future.result())
        engine.stop()


def _is_lost(future: Future[ChunkDone]) -> bool:
    """Return whether a worker died over a chunk; any other exception is a fault of this program."""
    error = future.exception()
    # KilledWorker: Dask has given the chunk to several workers, and all of them died
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


