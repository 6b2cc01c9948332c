"""Predicted beside measured energy of calls that the bench repeated for seconds."""

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
from hw_models.gpu.power import SteadyLoad, power_above_idle_w, steady


@dataclass(frozen=True)
class EnergyPoint:
    """One repeated call: joules by the board's counter (by its power readings where it has none),
    idle board included.

    load: what the model says of it. at_measured_j: the model's joules if time and clock are those
    that were measured, which tells errors of energies from errors of times. memory_read_w: what the
    driver reads of the memory alone, None where it reads nothing.
    """

    row: Row
    call: DecodeCall
    measured_s: float
    measured_j: float
    load: SteadyLoad
    at_measured_j: float
    memory_read_w: float | None

    @property
    def error(self) -> float:
        """Signed relative error, predicted / measured − 1."""
        return self.load.energy_j / self.measured_j - 1

    @property
    def error_at_measured_time(self) -> float:
        """The same for the joules at the measured time and clock."""
        return self.at_measured_j / self.measured_j - 1

    @property
    def measured_w(self) -> float:
        """Mean power of the board."""
        return self.measured_j / self.measured_s


def compare_energies(
    rows: Sequence[Row], calibration: GpuCalibration, capture: Path
) -> list[EnergyPoint]:
    """Predict every repeated call of a kernel of ours whose energy was read.

    capture: npz behind rows on captured attention. Calls of kernels that nobody compiled are left
    out; the comparison of times names them.
    """
    found = []
    for row in rows:
        column = next((name for name in ("energy_counter_mj", "energy_integral_mj")
                       if row.text(name)), None)
        if row.text("kernel") not in PASSES or row.text("l2") != "steady" or column is None:
            continue
        try:
            found.append(_point(row, row.number(column) * 1e-3, calibration, capture))
        except NotCompiled:
            continue
    return found


def _point(
    row: Row, measured_j: float, calibration: GpuCalibration, capture: Path
) -> EnergyPoint:
    values = calibration.values()
    call = row_call(row, capture)
    # in turn on more memory than the L2 holds: what a call reads is not there
    load = steady(calibration, call_launches(call, device_limits_of(row, calibration),
                                             values["l2_capacity"]))
    measured_s = row.number("time_us") * 1e-6
    clock = load.clock
    if row.text("running_sm_clock_mhz"):
        clock = min(1.0, row.number("running_sm_clock_mhz") * 1e6 / values["clock"])
    watts = values["idle_power"] + power_above_idle_w(load.work, values, measured_s, clock)
    read = row.number("memory_power_w") if row.text("memory_power_w") else None
    return EnergyPoint(row, call, measured_s, measured_j, load, watts * measured_s, read)
