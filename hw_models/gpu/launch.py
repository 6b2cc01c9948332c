"""What one kernel launch asks of a GPU: programs, bytes by access pattern, instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Start = Literal["alone", "serial", "dependent"]


@dataclass(frozen=True)
class Steps:
    """Instructions that one warp executes.

    instructions: all of them. barriers: those at which the warps of a program wait for what others
    have stored in shared memory;
    special: those of the unit for exponentials and conversions; tensor: products of matrices.
    """

    instructions: float = 0.0
    barriers: float = 0.0
    special: float = 0.0
    tensor: float = 0.0

    def plus(self, other: Steps, times: float) -> Steps:
        """Return these and `times` the others."""
        return Steps(self.instructions + times * other.instructions,
                     self.barriers + times * other.barriers,
                     self.special + times * other.special, self.tensor + times * other.tensor)


@dataclass(frozen=True)
class KernelLaunch:
    """One launch; all programs do the same amount of work.

    programs: grid size. resident: programs that fit on a multiprocessor (registers, shared memory,
    warps). num_warps: warps per program.
    stream_bytes, gather_bytes: bytes from main memory, whole launch, in long runs and in rows by
    index; gather_lines: 128-byte lines that the rows touch; gather_rows: how many rows, for their
    energy. l2_bytes: bytes that L2 serves.
    written_bytes: bytes written to main memory.
    tile_bytes, tiles_in_flight: what a program requests at a time, and how many such requests it
    has under way.
    issue_slots: warp instructions per program, all its warps together.
    once, turn, turns: what a warp executes outside of the program's loop, in each of its turns
    (one per tile), and how many turns; without them only `issue_slots` are known of the code.
    tensor_flops, exponentials: of the whole launch, for their energy; flops of tensor cores,
    2 × rows × columns × depth, without padding: zeros switch next to nothing.
    dependent_reads: rounds to memory before the first tile can be requested (indices, pages), or
    before the last rows where a kernel before it left what leads to them in L2.
    start: `alone` (the first of a call), `serial` (after the kernel before it has ended) or
    `dependent` (its launch overlaps the kernel before it).
    """

    programs: int
    resident: int
    num_warps: int
    stream_bytes: float = 0.0
    gather_bytes: float = 0.0
    gather_lines: float = 0.0
    gather_rows: float = 0.0
    l2_bytes: float = 0.0
    written_bytes: float = 0.0
    tile_bytes: float = 16384.0
    tiles_in_flight: int = 1
    issue_slots: float = 0.0
    once: Steps = Steps()
    turn: Steps = Steps()
    turns: float = 0.0
    tensor_flops: float = 0.0
    exponentials: float = 0.0
    dependent_reads: int = 0
    start: Start = "alone"

    def __post_init__(self) -> None:
        if min(self.programs, self.resident, self.num_warps, self.tiles_in_flight) < 1:
            raise ValueError(f"counts of programs, warps and tiles are at least 1, got {self}")
        if min(self.stream_bytes, self.gather_bytes, self.gather_lines, self.l2_bytes,
               self.gather_rows, self.written_bytes, self.issue_slots, self.tensor_flops,
               self.exponentials, self.turns, self.dependent_reads) < 0:
            raise ValueError(f"amounts of work are not negative, got {self}")
        if not self.tile_bytes > 0:
            raise ValueError(f"tile_bytes must be above 0, got {self.tile_bytes}")

    @property
    def steps(self) -> Steps:
        """What a warp executes from the first instruction to the last."""
        return self.once.plus(self.turn, self.turns)

    @property
    def read_bytes(self) -> float:
        """Bytes read by the launch, from main memory and from L2."""
        return self.stream_bytes + self.gather_bytes + self.l2_bytes
