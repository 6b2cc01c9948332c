"""Predicted beside counted DRAM bytes, under the profiler: caches empty ahead of every kernel."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpu_kernels.calibration.rows import Row
from gpu_kernels.decode_sizes import Sizes
from gpu_kernels.launches.call import ITEMSIZE, DecodeCall, Kernel, Pass
from gpu_kernels.launches.describe import passes
from gpu_kernels.launches.expected_rows import expected_rows
from gpu_kernels.microbench.counted_cases import DECODE_SHAPE, DECODE_SIZES, KEYS_PER_SAMPLE
from gpu_kernels.s2anta_comb.plan import DEFAULT_TILE as COMB_TILE
from gpu_kernels.s2anta_flash.plan import DEFAULT_TILE as FLASH_TILE
from gpu_kernels.validation.times import device_limits_of
from hw_models.gpu.calibration import GpuCalibration

COUNTED_COLUMNS = ("case", "kernel", "dram_read_bytes", "dram_write_bytes", "device", "driver",
                   "profiler", "date_utc")
CASE = re.compile(r"(dense|s2anta_flash|s2anta_comb)_b(\d+)_n(\d+)")


@dataclass(frozen=True)
class BytesPoint:
    """DRAM bytes, read and written, of one kernel of a call or of all of them."""

    case: str
    kernel: str
    counted: float
    predicted: float

    @property
    def error(self) -> float:
        """Signed relative error, predicted / counted − 1."""
        return self.predicted / self.counted - 1


def compare_bytes(rows: Sequence[Row], calibration: GpuCalibration) -> list[BytesPoint]:
    """Predict the DRAM bytes of every decode call that was counted, kernel by kernel and in all."""
    found = []
    for row in rows:
        case = CASE.fullmatch(row.text("case"))
        if case is None or (int(case[2]), int(case[3])) not in DECODE_SIZES:
            continue
        call = counted_call(case[1], int(case[2]), int(case[3]))
        limits = device_limits_of(row, calibration)
        by_kernel = {one.kernel.rsplit(".", 1)[-1]: dram_bytes(
            one, calibration.values()["l2_capacity"]) for one in passes(call, limits)}
        by_kernel["all"] = sum(by_kernel.values())
        if row.text("kernel") in by_kernel:
            counted = row.number("dram_read_bytes") + row.number("dram_write_bytes")
            found.append(BytesPoint(row.text("case"), row.text("kernel"), counted,
                                    by_kernel[row.text("kernel")]))
    return found


def counted_call(name: str, batch: int, context: int) -> DecodeCall:
    """Return the call behind a counted case: nearly flat attention, offsets of each head's own."""
    kernel: Kernel = "dense" if name == "dense" else (
        "s2anta_flash" if name == "s2anta_flash" else "s2anta_comb")
    samples = tile = 0
    if kernel != "dense":
        samples = context // KEYS_PER_SAMPLE[kernel]
        tile = FLASH_TILE if kernel == "s2anta_flash" else COMB_TILE
    sizes = Sizes(batch, context, *DECODE_SHAPE, ITEMSIZE["bfloat16"])
    call = DecodeCall(kernel, sizes, "bfloat16", "bfloat16", samples, tile)
    return replace(call, unique_rows=expected_rows(call, "flat", "own"))


def dram_bytes(one: Pass, l2_bytes: float) -> float:
    """Return the DRAM bytes of a pass that finds all caches empty.

    What it writes leaves the L2 only as far as its later traffic pushes it out.
    """
    work = one.work
    read = work.read_bytes + work.gather_bytes + work.handed_bytes
    traffic = read + work.written_bytes
    return read + work.written_bytes * max(0.0, 1 - l2_bytes / traffic)
