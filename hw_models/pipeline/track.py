"""Who does what when: the slots of a track, and the time that they spend in each state."""

from __future__ import annotations

from enum import IntEnum
from heapq import heappop, heappush

import simpy


class State(IntEnum):
    """What a slot of a track does."""

    BUSY = 0
    """A step runs."""
    STALLED = 1
    """The next step waits for its input."""
    BLOCKED = 2
    """The next step waits for room for its output."""
    IDLE = 3
    """There is no next step."""


class Track:
    """Slots that take the steps of one track in order.

    A slot without a step is in the state of the next step to start, since it would take it.
    """

    def __init__(self, env: simpy.Environment, slots: int) -> None:
        self.slots = slots
        self.spent_ps = [0] * len(State)
        self._env = env
        self._free = list(range(slots))
        self._since = 0
        self._waiting = State.STALLED
        self._vacancy: simpy.Event | None = None

    def mark(self, waiting: State | None = None) -> None:
        """Book the time up to now; from now on slots without a step are `waiting`."""
        now = int(self._env.now)
        passed = now - self._since
        if passed:
            empty = len(self._free)
            self.spent_ps[State.BUSY] += passed * (self.slots - empty)
            self.spent_ps[self._waiting] += passed * empty
            self._since = now
        if waiting is not None:
            self._waiting = waiting

    def close(self, end_ps: int) -> None:
        """Book the time from the last step of this track to the end of the run."""
        self.spent_ps[self._waiting] += (end_ps - self._since) * self.slots

    @property
    def full(self) -> bool:
        """Whether every slot has a step."""
        return not self._free

    def vacancy(self) -> simpy.Event:
        """Return the event of the next slot that becomes free."""
        self._vacancy = self._env.event()
        return self._vacancy

    def start(self) -> int:
        """Give the next step a slot; return its number."""
        self.mark(State.STALLED)
        return heappop(self._free)

    def end(self, slot: int) -> None:
        """Take the step off its slot."""
        self.mark()
        heappush(self._free, slot)
        if self._vacancy is not None:
            self._vacancy.succeed()
            self._vacancy = None


class Room:
    """A buffer of so many bytes, filled by one track and emptied by others."""

    def __init__(self, env: simpy.Environment, capacity: int) -> None:
        self.free = capacity
        self._env = env
        self._wanted = 0
        self._enough: simpy.Event | None = None

    def enough(self, size: int) -> simpy.Event:
        """Return the event of `size` bytes being free."""
        self._wanted = size
        self._enough = self._env.event()
        return self._enough

    def take(self, size: int) -> None:
        """Use bytes that are free."""
        self.free -= size

    def give_back(self, size: int) -> None:
        """Free bytes again."""
        self.free += size
        if self._enough is not None and self.free >= self._wanted:
            self._enough.succeed()
            self._enough = None
