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
    for eighths in (1, 2, 4, 8, 16, 32):
        yield stream("energy", "steady", GATHER_BYTES, multiprocessors * eighths // 8, energy=True)
    yield stream("energy", "steady", GATHER_BYTES, 4 * multiprocessors, data="zeros", energy=True)
    for row_bytes, density in ((64, 1 / 4), (256, 1 / 16), (256, 1 / 4), (1024, 1 / 4)):
        yield gather("energy", "steady", GATHER_BYTES, 8 * multiprocessors, row_bytes, density,
                     energy=True)
    yield copy("energy", "steady", GATHER_BYTES // 2, energy=True)
    for halves in (1, 2, 8):
        yield stream("energy", "steady", 16 * MIB, multiprocessors * halves // 2, passes=200,
                     stages=4, energy=True)
    for op in ("dot", "exp", "fma", "scan", "compare"):
        yield arithmetic("energy", "steady", op, 8 * multiprocessors, 20_000, energy=True)
    for op in ("dot", "exp", "compare"):
        yield tile("energy", "steady", op, 16 * MIB, 8 * multiprocessors, passes=100, energy=True)
        yield tile("energy", "steady", op, GATHER_BYTES, 8 * multiprocessors, energy=True)
    yield idle("after")
