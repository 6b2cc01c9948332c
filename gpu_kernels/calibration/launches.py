"""Describes a microbenchmark's point as the launches that the time model knows."""

from __future__ import annotations

from dataclasses import replace

from gpu_kernels.calibration.rows import Row
from hw_models.gpu.launch import KernelLaunch, Start

LINE_BYTES = 128
INDEX_BYTES = 4
HEAD_DIM = 128
"""Depth of the products in the microbenchmarks."""
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
        return [_arithmetic(row, bare)]
    tiled = replace(bare, tile_bytes=row.number("tile_bytes"),
                    tiles_in_flight=max(1, row.count("stages", 1) - 1))
    if kernel == "gather":
        return [_with_instructions(row, _gathered(row, tiled), row.number("tile_bytes"))]
    loaded = row.number("loaded_bytes")
    if row.text("l2") == "warm" or row.count("passes", 1) > 1:
        read = replace(tiled, l2_bytes=loaded)
    else:
        read = replace(tiled, stream_bytes=loaded)
    return [_with_instructions(row, _with_steps(row, read), row.number("tile_bytes"))]


def _arithmetic(row: Row, launch: KernelLaunch) -> KernelLaunch:
    warps, turns = row.number("num_warps"), row.number("iterations")
    entries = row.number("block_n") * row.number("columns")
    slots = turns * (entries / 32 + LOOP_SLOTS * warps)
    if row.text("loop_instructions"):
        slots = turns * warps * row.number("loop_instructions")
    repeated = launch.programs * turns * entries
    op = row.text("op")
    return replace(launch, issue_slots=slots,
                   tensor_flops=2 * HEAD_DIM * repeated if op == "dot" else 0.0,
                   exponentials=repeated if op in ("exp", "ricker") else 0.0)


def _with_steps(row: Row, launch: KernelLaunch) -> KernelLaunch:
    """Add what a tile's steps compute with each tile."""
    if row.text("kernel") != "tile":
        return launch
    entries = launch.read_bytes / row.number("row_bytes") * row.number("columns")
    return replace(launch, tensor_flops=2 * HEAD_DIM * entries,
                   exponentials=0.0 if row.text("op") == "dot" else entries)


def _with_instructions(row: Row, launch: KernelLaunch, tile_bytes: float) -> KernelLaunch:
    """Add the loop's instructions where the file has them, one turn per tile."""
    if not row.text("loop_instructions"):
        return launch
    turns = (launch.gather_bytes or launch.read_bytes) / tile_bytes / launch.programs
    return replace(launch, issue_slots=turns * launch.num_warps * row.number("loop_instructions"))


def _relay(row: Row) -> list[KernelLaunch]:
    rest: Start = "dependent" if row.count("dependent") else "serial"
    first = KernelLaunch(row.count("programs"), resident_programs(row), row.count("num_warps"),
                         dependent_reads=int(row.text("op") == "relay"))
    return [replace(first, start=rest if index else "alone")
            for index in range(row.count("launches"))]


def _gathered(row: Row, launch: KernelLaunch) -> KernelLaunch:
    """Add rows and their indices; rows that share a line count once if read in its order."""
    row_bytes, read = row.number("row_bytes"), row.number("read_bytes")
    if row.text("l2") == "steady" and read < row.number("l2_bytes"):
        return replace(launch, l2_bytes=read, dependent_reads=1)  # each call finds the last one's
    rows = read / (row_bytes + INDEX_BYTES)
    lines = rows * -(-row_bytes // LINE_BYTES)
    packed = row.number("row_stride_bytes") == row_bytes and row.text("order") == "sorted"
    if row_bytes < LINE_BYTES and packed:
        per_line, density = LINE_BYTES / row_bytes, row.number("density")
        lines = rows / density / per_line * (1 - (1 - density) ** per_line)
    return replace(launch, gather_bytes=rows * row_bytes, gather_lines=lines,
                   gather_rows=rows, stream_bytes=rows * INDEX_BYTES, dependent_reads=1)
