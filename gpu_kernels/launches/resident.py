"""How many programs of a kernel run on one multiprocessor at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """What one multiprocessor has: shared memory in KiB, warps and programs."""

    shared_kib: int
    warps: int
    programs: int


ROOM = {(8, 0): Room(164, 64, 32), (8, 6): Room(100, 48, 16), (8, 9): Room(100, 48, 24),
        (9, 0): Room(228, 64, 32), (12, 0): Room(100, 48, 24)}
"""By compute capability; all have 65,536 registers. Source: CUDA C++ Programming Guide, technical
specifications per compute capability."""
REGISTERS = 65536
REGISTER_UNIT = 256
"""Registers are given out to a warp in such units, 8 per thread."""
RESERVED_BYTES = 1024
"""Shared memory that each program takes on top of its own."""


def resident_programs(
    registers: int, shared_bytes: int, num_warps: int, capability: tuple[int, int]
) -> int:
    """Return how many programs fit; registers: per thread; shared_bytes: per program."""
    room = ROOM[capability]
    taken = -(-registers // 8) * REGISTER_UNIT * num_warps
    return max(1, min(REGISTERS // taken,
                      room.shared_kib * 1024 // (shared_bytes + RESERVED_BYTES),
                      room.warps // num_warps, room.programs))
