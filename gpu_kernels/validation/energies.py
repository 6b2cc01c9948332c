"""Predicted beside measured joules of the bench's kernels, repeated for seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpu_kernels.calibration.rows import Row
from gpu_kernels.compiled_counts.table import NotCompiled
from gpu_kernels.launches.bench_calls import row_call
from gpu_kernels.launches.call import DecodeCall
from gpu_kernels.launches.describe import PASSES
from gpu_kernels.launches.priced import call_launches
from gpu_kernels.validation.times import device_limits_of
from hw_models.gpu.calibration import GpuCalibration
from hw_models.gpu.power import steady


@dataclass(frozen=True)
class EnergyPoint:
    """Energy of one call, J, by the board's counter (by its power readings where it has none)."""

    row: Row
    call: DecodeCall
    measured_j: float
    predicted_j: float

    @property
    def error(self) -> float:
        """Signed relative error, predicted / measured − 1."""
        return self.predicted_j / self.measured_j - 1


def compare_energies(
    rows: Sequence[Row], calibration: GpuCalibration, capture: Path
) -> list[EnergyPoint]:
    """Predict the energy of every call of a kernel of ours whose energy was read."""
    found = []
    for row in rows:
        column = next((name for name in ("energy_counter_mj", "energy_integral_mj")
                       if row.text(name)), None)
        if row.text("kernel") not in PASSES or row.text("l2") != "steady" or column is None:
            continue
        call = row_call(row, capture)
        try:
            # in turn on more memory than the L2 holds: what a call reads is not there
            launches = call_launches(call, device_limits_of(row, calibration),
                                     calibration.values()["l2_capacity"])
        except NotCompiled:
            continue
        found.append(EnergyPoint(row, call, row.number(column) * 1e-3,
                                 steady(calibration, launches).energy_j))
    return found
