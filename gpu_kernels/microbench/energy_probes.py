"""Points measured over seconds, to tell the energy of bytes by level from that of operations."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_kernels.microbench.compute_probes import arithmetic, spin, tile
from gpu_kernels.microbench.memory_probes import GATHER_BYTES, MIB, copy, gather, stream
from gpu_kernels.microbench.setting import Probe, Setting

IDLE = ("before", "after")
"""When the board is read with nothing running: `before` is what every other point subtracts."""


def idle(op: str) -> Probe:
    """Return the point at which nothing runs."""

    def nothing(_: object) -> None:
        raise AssertionError("an idle board has no call")

    return Probe(Setting("energy", "idle", "steady", op=op), nothing, energy=True)  # type: ignore[arg-type]


def energy_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield loads that differ in one thing at a time: rate of reading, level, operation, data."""
    yield idle("before")
    yield spin("energy", "steady", 2_000_000, energy=True)
    yield from _reads(multiprocessors)
    yield from _operations(multiprocessors)
    yield from _tiles(multiprocessors)
    yield idle("after")


def _reads(multiprocessors: int) -> Iterator[Probe]:
    """Bytes by level and rate, rows by size, share and layout, and what the data hold."""
    full = 4 * multiprocessors
    for eighths in (1, 2, 4, 8, 16, 32):
        yield stream("energy", "steady", GATHER_BYTES, multiprocessors * eighths // 8, energy=True)
    yield stream("energy", "steady", GATHER_BYTES, full, data="zeros", energy=True)
    for row_bytes, density in (
        (64, 1 / 4), (256, 1 / 16), (256, 1 / 4), (1024, 1 / 4),
        (64, 1 / 16), (128, 1 / 4), (256, 1 / 64), (256, 1.0), (512, 1 / 16),
    ):
        yield gather("energy", "steady", GATHER_BYTES, 2 * full, row_bytes, density, energy=True)
    yield gather("energy", "steady", GATHER_BYTES, 2 * full, 256, 1 / 16, layout="HND",
                 energy=True)
    yield gather("energy", "steady", GATHER_BYTES, multiprocessors, 256, 1 / 4, energy=True)
    yield copy("energy", "steady", GATHER_BYTES // 2, energy=True)
    for halves in (1, 2, 8):
        yield stream("energy", "steady", 16 * MIB, multiprocessors * halves // 2, passes=200,
                     stages=4, energy=True)


def _operations(multiprocessors: int) -> Iterator[Probe]:
    """One operation on registers, at rest and never at rest, and shapes of matrix operands."""
    for op in ("dot", "exp", "fma", "scan", "compare"):
        yield arithmetic("energy", "steady", op, 8 * multiprocessors, 20_000, energy=True)
    for op in ("logistic", "ricker"):
        yield arithmetic("energy", "steady", op, 8 * multiprocessors, 20_000, energy=True)
    for columns, num_warps in ((16, 1), (32, 4)):
        yield arithmetic("energy", "steady", "dot", 8 * multiprocessors, 5_000, columns=columns,
                         num_warps=num_warps, energy=True)


def _tiles(multiprocessors: int) -> Iterator[Probe]:
    """Steps of a tile of keys from L2 and from memory, below the power limit and at it."""
    for op in ("dot", "exp", "compare"):
        yield tile("energy", "steady", op, 16 * MIB, 8 * multiprocessors, passes=100, energy=True)
        yield tile("energy", "steady", op, GATHER_BYTES, 8 * multiprocessors, energy=True)
    for op in ("dot", "exp", "scan", "compare"):
        yield tile("energy", "steady", op, GATHER_BYTES, 2 * multiprocessors, energy=True)
    for samples, op in ((1, "scan"), (1, "compare"), (4, "compare")):
        yield tile("energy", "steady", op, GATHER_BYTES, 8 * multiprocessors, columns=16,
                   samples=samples, energy=True)
