"""One GPU's predictions beside all that was measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_kernels.calibration.rows import Row, differences, read_rows
from gpu_kernels.validation.bench_row import check_bench_rows
from gpu_kernels.validation.dram import COUNTED_COLUMNS, BytesPoint, compare_bytes
from gpu_kernels.validation.energies import EnergyPoint, compare_energies
from gpu_kernels.validation.summary import ErrorSummary, summarise
from gpu_kernels.validation.times import BENCH_COLUMNS, Compared, compare_times
from gpu_kernels.validation.unseen import unseen
from hw_models.catalogue import load_accelerator
from hw_models.gpu.calibration import GpuCalibration, load_calibration
from hw_models.gpu.datasheet import datasheet

NO_ENERGY = "no file has the energy of attention kernels"


@dataclass(frozen=True)
class Validation:
    """Held-out points and warnings.

    times: with the calibration; from_datasheet: the same points without any measurement.
    counted: DRAM bytes per kernel and in all. joules: energy of repeated calls. warnings: what
    makes files unfit to be compared.
    """

    calibration: GpuCalibration
    times: Compared
    from_datasheet: Compared
    counted: tuple[BytesPoint, ...]
    joules: tuple[EnergyPoint, ...]
    warnings: tuple[str, ...]

    @property
    def time(self) -> ErrorSummary:
        """Errors of the calibrated times."""
        return summarise([point.error for point in self.times.points])

    @property
    def unseen_time(self) -> ErrorSummary:
        """Those of settings that nobody had looked at while the model was built."""
        return summarise([point.error for point in unseen(self.times.points)])

    @property
    def datasheet_time(self) -> ErrorSummary:
        """Errors of the times from the datasheet alone."""
        return summarise([point.error for point in self.from_datasheet.points])

    @property
    def dram_bytes(self) -> ErrorSummary:
        """Errors of the DRAM bytes of whole calls."""
        return summarise([point.error for point in self.counted if point.kernel == "all"],
                         "no file of counted bytes")

    @property
    def energy(self) -> ErrorSummary:
        """Errors of joules per call."""
        return summarise([point.error for point in self.joules], NO_ENERGY)

    def as_json(self) -> dict[str, dict[str, Any]]:
        """Return absolute relative errors of the held-out points: time, dram_bytes, energy."""
        return {"time": self.time.as_json(), "dram_bytes": self.dram_bytes.as_json(),
                "energy": self.energy.as_json()}


def validate(
    timed: Sequence[Path], counted: Sequence[Path], calibration: Path, accelerator: str,
    capture: Path,
) -> Validation:
    """Compare; raises `SpecError` for a file that is none of ours.

    timed: bench files; counted: files of counted bytes; accelerator: whose datasheet to compare.
    """
    fitted = load_calibration(calibration)
    rows = read_rows(timed, BENCH_COLUMNS, "bench")
    check_bench_rows(rows)
    bytes_rows = read_rows(counted, COUNTED_COLUMNS, "counted-bytes")
    sheet = datasheet(load_accelerator(accelerator))
    return Validation(
        fitted, compare_times(rows, fitted, capture), compare_times(rows, sheet, capture),
        tuple(compare_bytes(bytes_rows, fitted)), tuple(compare_energies(rows, fitted, capture)),
        tuple(differences(rows) + unlike(rows, fitted) + unlike(bytes_rows, fitted, timed=False)),
    )


def unlike(
    rows: Sequence[Row], calibration: GpuCalibration, *, timed: bool = True
) -> list[str]:
    """Return a warning for each of GPU, driver and timer that differs from the calibration's."""
    if calibration.measured is None or not rows:
        return []
    measured = calibration.measured
    found = []
    for name, fitted in (("device", measured.device), ("driver", measured.driver),
                         ("timer", measured.timer)):
        if name == "timer" and not timed:
            continue  # bytes have no timer
        others = {row.text(name) for row in rows if row.text("l2") != "steady"} - {fitted}
        found += [f"{name} of {Path(rows[0].file).name} is '{other}', of the calibration's"
                  f" measurements '{fitted}': not comparable" for other in sorted(others)]
    return found
