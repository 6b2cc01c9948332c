"""Describes a microbenchmark's point as the launches that the time model knows."""

from __future__ import annotations

import math
from dataclasses import replace

from gpu_kernels.calibration.rows import Row
from gpu_kernels.compiled_counts.table import Compiled, Variant, compiled, variant_text
from gpu_kernels.launches.resident import resident_programs
from hw_models.gpu.launch import KernelLaunch, Start

LINE_BYTES = 128
INDEX_BYTES = 4
HEAD_DIM = 128
"""Depth of the products in the microbenchmarks."""
STEPS = ("dot", "exp", "scan", "compare")
"""Operations of a tile, each with those before it."""
DEFAULT_STAGES = 3
"""Of a Triton kernel for which no number of stages is given."""
LOOP_SLOTS = 1
"""Instructions per warp and iteration around the multiply-adds: assumed, not counted; an unrolled
loop counts, compares and branches once for several iterations."""


def _resident(row: Row) -> int:
    major, minor = row.text("capability").split(".")
    return resident_programs(row.count("registers", 32), row.count("shared_bytes"),
                             row.count("num_warps", 1), (int(major), int(minor)))


def launches(row: Row) -> list[KernelLaunch]:
    """Return what a row's call launches."""
    kernel = row.text("kernel")
    if kernel == "relay":
        return _relay(row)
    bare = KernelLaunch(row.count("programs", 1), _resident(row),
                        row.count("num_warps", 1))
    if kernel == "arithmetic":
        return [_with_program(row, _arithmetic(row, bare), row.number("iterations"))]
    tiled = replace(bare, tile_bytes=row.number("tile_bytes"),
                    tiles_in_flight=max(1, row.count("stages", 1) - 1))
    if kernel == "gather":
        return [_with_instructions(row, _gathered(row, tiled), row.number("tile_bytes"))]
    loaded = row.number("loaded_bytes")
    if row.text("l2") == "warm" or row.count("passes", 1) > 1:
        read = replace(tiled, l2_bytes=loaded)
    else:
        read = replace(tiled, stream_bytes=loaded)
    read = _with_instructions(row, _with_steps(row, read), row.number("tile_bytes"))
    # a program beyond the last tile takes its steps all the same
    part = math.ceil(row.number("read_bytes") / read.tile_bytes / read.programs)
    return [_with_program(row, read, row.count("passes", 1) * part)]


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


def compiled_microbenchmark(row: Row) -> Compiled:
    """Return what the compiler made of an arithmetic or tile kernel; raises `NotCompiled`."""
    kernel = row.text("kernel")
    arguments: dict[str, object] = {
        name.upper(): row.count(name) for name in ("block_n", "columns", "samples", "stages")
        if row.text(name)
    }
    if kernel == "arithmetic":
        arguments["OP"] = row.text("op")
    else:
        arguments["STEP"] = STEPS.index(row.text("op")) + 1
    variant = Variant(f"microbench.compute_kernels.{kernel}_kernel",
                      variant_text(arguments | {"HEAD_DIM": HEAD_DIM}),
                      row.count("num_warps"), DEFAULT_STAGES)
    major, minor = row.text("capability").split(".")
    return compiled(variant, (int(major), int(minor)))


def _with_program(row: Row, launch: KernelLaunch, turns: float) -> KernelLaunch:
    """Add what a program executes where its steps are looked at, `turns` times the loop.

    Multiply-adds are left out: theirs do not wait for each other.
    """
    if row.text("experiment") not in ("arithmetic", "tile") or row.text("op") == "fma":
        return launch
    steps = compiled_microbenchmark(row).steps
    turn = steps.turn.plus(steps.branch, 1.0)
    slots = launch.num_warps * steps.once.plus(turn, turns).instructions
    return replace(launch, issue_slots=slots, once=steps.once, turn=turn, turns=turns)


def _relay(row: Row) -> list[KernelLaunch]:
    rest: Start = "dependent" if row.count("dependent") else "serial"
    first = KernelLaunch(row.count("programs"), _resident(row), row.count("num_warps"),
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
