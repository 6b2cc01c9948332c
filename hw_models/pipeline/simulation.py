"""Runs a schedule on a machine, event by event."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np
import simpy

from hw_models.dram.session import DramSession
from hw_models.pipeline.bounds import Bounds, bounds_of, memory_alone
from hw_models.pipeline.machine import PICOSECONDS, Machine, check_machine
from hw_models.pipeline.memory_port import MemoryPort
from hw_models.pipeline.report import PipelineReport, Timeline, TrackUse
from hw_models.pipeline.track import Room, State, Track
from hw_models.pipeline.work import Schedule


def simulate(
    schedule: Schedule, machine: Machine, memory_alone_s: float | None = None
) -> PipelineReport:
    """Return what `machine` does with `schedule`, and when.

    Each track starts its steps in order. A step starts when its track has a slot, the steps that it
    waits for have ended and there is room in the buffers that it takes; it ends after its
    operations (see `Machine.duration_ps`) or when its last bit has arrived. Time is counted in
    whole picoseconds from 0 to the end of the last step; the memory's clock starts at 0 too.
    memory_alone_s: what `memory_alone` returns for these, if that is known already.
    Raises `SpecError` if the schedule cannot run on the machine, and `ValueError` if its steps
    wait for one another in a circle.
    """
    check_machine(machine, schedule)
    run = _Run(schedule, machine)
    run.env.run()
    if not all(run.done):
        stuck = next(step for step, done in zip(schedule.steps, run.done, strict=True) if not done)
        raise ValueError(f"the schedule never ends: '{stuck.label}' on '{stuck.track}' waits")
    if memory_alone_s is None:
        memory_alone_s = memory_alone(schedule, machine)
    return run.report(bounds_of(schedule, machine, memory_alone_s))


class _Run:
    """The state of one simulation."""

    def __init__(self, schedule: Schedule, machine: Machine) -> None:
        n = len(schedule.steps)
        self.env = simpy.Environment(initial_time=0)
        self.done = [False] * n
        self._schedule, self._machine = schedule, machine
        self._duration = [machine.duration_ps(step.work) for step in schedule.steps]
        self._start, self._end, self._slot = [0] * n, [0] * n, [0] * n
        self._order: list[int] = []
        self._awaited: dict[int, simpy.Event] = {}
        self._rooms = {name: Room(self.env, machine.buffers[name]) for name in schedule.largest}
        self._filled, self._high = 0, 0
        self._filled_at: list[tuple[int, int]] = [(0, 0)]
        self._session = DramSession(machine.memory, machine.policy, machine.queue)
        self._port = MemoryPort(self.env, self._session, machine.path_ps)
        self._tracks = {
            name: Track(self.env, machine.in_flight.get(name, 1)) for name in schedule.tracks
        }
        for name, own in schedule.tracks.items():
            self.env.process(self._take_steps(self._tracks[name], own))

    def _take_steps(self, track: Track, own: tuple[int, ...]) -> Generator[simpy.Event, Any, None]:
        steps = self._schedule.steps
        for i in own:
            step = steps[i]
            if track.full:
                yield track.vacancy()
            for j in step.after:
                if not self.done[j]:
                    track.mark(State.STALLED)
                    yield self._end_of(j)
            for name, size in step.takes:
                room = self._rooms[name]
                if room.free < size:
                    track.mark(State.BLOCKED)
                    yield room.enough(size)
                room.take(size)
                self._fill(size)
            self._slot[i] = track.start()
            self._start[i] = int(self.env.now)
            if self._duration[i]:
                yield self.env.timeout(self._duration[i])
            if step.transfer is None:
                self._finish(track, i)
            else:
                self._order.append(i)
                self._port.submit(step.transfer, partial(self._finish, track, i))
        track.mark(State.IDLE)

    def _end_of(self, j: int) -> simpy.Event:
        if j not in self._awaited:
            self._awaited[j] = self.env.event()
        return self._awaited[j]

    def _finish(self, track: Track, i: int) -> None:
        self.done[i] = True
        self._end[i] = int(self.env.now)
        track.end(self._slot[i])
        for name, size in self._schedule.steps[i].gives_back:
            self._rooms[name].give_back(size)
            self._fill(-size)
        if i in self._awaited:
            self._awaited.pop(i).succeed()

    def _fill(self, size: int) -> None:
        self._filled += size
        self._high = max(self._high, self._filled)
        self._filled_at.append((int(self.env.now), self._filled))

    def report(self, bounds: Bounds) -> PipelineReport:
        """Return the results of a run that has ended."""
        machine, schedule = self._machine, self._schedule
        total_ps = max(self._end, default=0)
        for track in self._tracks.values():
            track.close(total_ps)
        cycles = -(-total_ps // machine.memory.timing.tCK_ps)
        channels, energy = self._session.close(cycles)
        filled = np.array(self._filled_at, np.int64)
        # of several changes at one time, the last one stays
        last = np.append(np.diff(filled[:, 0]) > 0, True)
        timeline = Timeline(
            np.array(self._start, np.int64), np.array(self._end, np.int64),
            np.array(self._slot, np.int32), np.array(self._order, np.int64),
            filled[last, 0], filled[last, 1],
        )
        return PipelineReport(
            schedule=schedule, machine=machine, time_s=total_ps / PICOSECONDS,
            tracks=tuple(
                _use(name, track, len(schedule.tracks[name]))
                for name, track in self._tracks.items()
            ),
            channels=channels, memory_energy=energy, sram_high_bytes=self._high,
            bounds=bounds, timeline=timeline,
        )


def _use(name: str, track: Track, steps: int) -> TrackUse:
    seconds = [spent / track.slots / PICOSECONDS for spent in track.spent_ps]
    return TrackUse(name, track.slots, steps, *seconds)
