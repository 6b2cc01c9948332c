"""Joins the clock of the simulation with the memory, which decides many cycles at a time.

Nothing that the memory has not decided yet can end within the way of a request to it, its shortest
access, and the way back. So it is enough to let it decide once in that time: it is never asked to
go beyond what is known to arrive, and never tells too late.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy

from hw_models.dram import burst_addresses
from hw_models.dram.session import DramSession
from hw_models.pipeline.work import Transfer


class MemoryPort:
    """Takes transfers at any time and calls back when their last bit has arrived.

    path_ps: the way from an engine to the memory, and as long back.
    """

    def __init__(self, env: simpy.Environment, session: DramSession, path_ps: int) -> None:
        self._env = env
        self._session = session
        self._cycle_ps = session.spec.timing.tCK_ps
        self._path_ps = path_ps
        # one cycle less, for a request waits for the next edge of the memory's clock
        self._period_ps = 2 * path_ps + (session.least_latency_cycles - 1) * self._cycle_ps
        self._waiting: dict[int, Callable[[], None]] = {}
        self._awake: simpy.Event | None = None
        self._burst_bytes = session.spec.organisation.burst_bytes
        env.process(self._decide())

    def submit(self, transfer: Transfer, done: Callable[[], None]) -> None:
        """Start a transfer now; call `done` at its end."""
        cycle = -(-(int(self._env.now) + self._path_ps) // self._cycle_ps)
        address = burst_addresses(transfer.start, transfer.segment_bytes, self._burst_bytes)
        self._waiting[self._session.submit(cycle, address, transfer.is_write)] = done
        if self._awake is not None:
            self._awake.succeed()
            self._awake = None

    def _decide(self) -> Generator[simpy.Event, Any, None]:
        while True:
            if not self._waiting:
                self._awake = self._env.event()
                yield self._awake
            yield self._env.timeout(self._period_ps)
            until = (int(self._env.now) + self._path_ps) // self._cycle_ps
            for ticket, cycle in self._session.advance(until):
                end = cycle * self._cycle_ps + self._path_ps
                arrival = self._env.timeout(end - self._env.now)
                arrival.callbacks.append(_calling(self._waiting.pop(ticket)))


def _calling(done: Callable[[], None]) -> Callable[[simpy.Event], None]:
    def call(_event: simpy.Event) -> None:
        done()

    return call
