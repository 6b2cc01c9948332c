"""Describes a microbenchmark's point as the launches that the time model knows."""

from __future__ import annotations

from dataclasses import replace

from gpu_kernels.calibration.rows import Row
from hw_models.gpu.launch import KernelLaunch, Start

LINE_BYTES = 128
INDEX_BYTES = 4
LOOP_SLOTS = 1
"""Instructions per warp and iteration around the multiply-adds: assumed, not counted; an unrolled
loop counts, compares and branches once for several iterations."""


def resident_programs(row: Row) -> int:
    """Return how many programs fit on a multiprocessor of compute capability 8.0 or 9.0.

    Registers 65,536 in units of 256 per warp; shared memory 228 KiB (8.0: 164) less 1 KiB per
    program; 64 warps; 32 programs. Source: CUDA C++ Programming Guide, technical specifications
    per compute capability.
    """
    warps = row.count("num_warps", 1)
    registers = -(-row.count("registers", 32) // 8) * 256 * warps
    shared = row.count("shared_bytes") + 1024
    capacity = (164 if row.text("capability") == "8.0" else 228) * 1024
    return max(1, min(65536 // registers, capacity // shared, 64 // warps, 32))


def launches(row: Row) -> list[KernelLaunch]:
    """Return what a row's call launches."""
    kernel = row.text("kernel")
    if kernel == "relay":
        return _relay(row)
    bare = KernelLaunch(row.count("programs", 1), resident_programs(row),
                        row.count("num_warps", 1))
    if kernel == "arithmetic":
        lanes = row.number("block_n") * row.number("columns") / 32
        slots = row.number("iterations") * (lanes + LOOP_SLOTS * row.number("num_warps"))
        return [replace(bare, issue_slots=slots)]
    tiled = replace(bare, tile_bytes=row.number("tile_bytes"),
                    tiles_in_flight=max(1, row.count("stages", 1) - 1))
    if kernel == "gather":
        return [_gathered(row, tiled)]
    loaded = row.number("loaded_bytes")
    if row.text("l2") == "warm":
        return [replace(tiled, l2_bytes=loaded)]
    return [replace(tiled, stream_bytes=loaded)]


def _relay(row: Row) -> list[KernelLaunch]:
    rest: Start = "dependent" if row.count("dependent") else "serial"
    first = KernelLaunch(row.count("programs"), resident_programs(row), row.count("num_warps"),
                         dependent_reads=int(row.text("op") == "relay"))
    return [replace(first, start=rest if index else "alone")
            for index in range(row.count("launches"))]


def _gathered(row: Row, launch: KernelLaunch) -> KernelLaunch:
    """Add rows and their indices; rows that share a line count once if read in its order."""
    row_bytes, read = row.number("row_bytes"), row.number("read_bytes")
    rows = read / (row_bytes + INDEX_BYTES)
    lines = rows * -(-row_bytes // LINE_BYTES)
    packed = row.number("row_stride_bytes") == row_bytes and row.text("order") == "sorted"
    if row_bytes < LINE_BYTES and packed:
        per_line, density = LINE_BYTES / row_bytes, row.number("density")
        lines = rows / density / per_line * (1 - (1 - density) ** per_line)
    return replace(launch, gather_bytes=rows * row_bytes, gather_lines=lines,
                   stream_bytes=rows * INDEX_BYTES, dependent_reads=1)
