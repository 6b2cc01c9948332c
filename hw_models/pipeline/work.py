"""What a pipeline has to do: steps on tracks, in order, with the buffers between them.

Nothing here knows what the work is for. A step moves bytes or executes operations; it may wait for
earlier steps, and it takes room in buffers that later steps give back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Transfer:
    """Equal segments that move between main memory and the chip.

    start: int64 [segments >= 1], first byte of each; segment_bytes: size of every one.
    """

    start: NDArray[np.int64]
    segment_bytes: int
    is_write: bool = False

    @property
    def bytes(self) -> int:
        """What the segments hold."""
        return len(self.start) * self.segment_bytes


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work on one track.

    track: where it runs; a track starts its steps in the order of the schedule.
    label: what a timeline calls it.
    work: unit -> operations, executed side by side; before a transfer, what makes its addresses.
    transfer: what it moves, or None for computation.
    after: earlier steps, by number, that must have ended.
    takes: buffer -> bytes that must be free when it starts, and are its own from then on.
    gives_back: buffer -> bytes that are free again when it ends.
    """

    track: str
    label: str
    work: Mapping[str, int]
    transfer: Transfer | None = None
    after: tuple[int, ...] = ()
    takes: tuple[tuple[str, int], ...] = ()
    gives_back: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Schedule:
    """All steps, in an order in which one after the other could run.

    Raises `ValueError` if a step waits for itself or a later one, if two tracks take from one
    buffer, if one track mixes transfers and computation, or if a buffer does not get back exactly
    what was taken.
    """

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        taker: dict[str, str] = {}
        moves: dict[str, bool] = {}
        held: dict[str, int] = {}
        for i, step in enumerate(self.steps):
            if any(not 0 <= j < i for j in step.after):
                raise ValueError(f"step {i} ({step.label}) waits for {step.after}, not before it")
            if moves.setdefault(step.track, step.transfer is not None) != (
                step.transfer is not None
            ):
                raise ValueError(f"track '{step.track}' both moves and computes")
            for name, size in step.takes:
                if taker.setdefault(name, step.track) != step.track:
                    raise ValueError(f"'{taker[name]}' and '{step.track}' both take from '{name}'")
                held[name] = held.get(name, 0) + size
            for name, size in step.gives_back:
                held[name] = held.get(name, 0) - size
                if held[name] < 0:
                    raise ValueError(f"step {i} ({step.label}) gives back more of '{name}' than was"
                                     " taken")
        left = {name: size for name, size in held.items() if size}
        if left:
            raise ValueError(f"buffers are never given back: {left}")

    @cached_property
    def tracks(self) -> Mapping[str, tuple[int, ...]]:
        """Track -> its steps, tracks in the order of their first step."""
        found: dict[str, list[int]] = {}
        for i, step in enumerate(self.steps):
            found.setdefault(step.track, []).append(i)
        return {name: tuple(own) for name, own in found.items()}

    @cached_property
    def largest(self) -> Mapping[str, int]:
        """Buffer -> the most that one step takes of it, in bytes."""
        most: dict[str, int] = {}
        for step in self.steps:
            for name, size in step.takes:
                most[name] = max(most.get(name, 0), size)
        return most

    @cached_property
    def operations(self) -> Mapping[str, int]:
        """Unit -> operations of all steps."""
        total: dict[str, int] = {}
        for step in self.steps:
            for unit, count in step.work.items():
                total[unit] = total.get(unit, 0) + count
        return total

    @cached_property
    def transfers(self) -> tuple[int, ...]:
        """The steps that move bytes."""
        return tuple(i for i, step in enumerate(self.steps) if step.transfer is not None)
