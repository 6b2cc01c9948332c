"""Predicted beside measured times of the bench's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gpu_kernels.calibration.rows import Row
from gpu_kernels.compiled_counts.table import NotCompiled
from gpu_kernels.launches.bench_calls import row_call
from gpu_kernels.launches.call import DecodeCall
from gpu_kernels.launches.describe import PASSES, passes
from gpu_kernels.launches.priced import priced
from gpu_kernels.split_plan import OFFLINE_LIMITS, DeviceLimits
from hw_models.gpu.calibration import GpuCalibration
from hw_models.gpu.timing import GpuTiming, LaunchTime
from hw_models.problems import Problem, SpecError

BENCH_COLUMNS = ("kernel", "batch", "context", "samples", "num_qo_heads", "num_kv_heads",
                 "head_dim", "dtype", "kv_layout", "inputs", "tile", "trials", "l2", "time_us",
                 "device", "driver", "timer", "date_utc")


@dataclass(frozen=True)
class TimePoint:
    """One measured call and what the model says of it; times in s.

    low_s, high_s: 20th and 80th percentile of the repeats. terms: launch, term -> s, in the order
    of the launches. bound: the term that takes longest in the launch that takes longest.
    """

    row: Row
    call: DecodeCall
    measured_s: float
    low_s: float
    high_s: float
    predicted_s: float
    terms: tuple[tuple[str, dict[str, float]], ...]
    bound: str

    @property
    def error(self) -> float:
        """Signed relative error, predicted / measured − 1."""
        return self.predicted_s / self.measured_s - 1

    @property
    def within_noise(self) -> bool:
        """Whether the prediction lies between the measured percentiles."""
        return self.low_s <= self.predicted_s <= self.high_s

    @property
    def noise(self) -> float:
        """Half the distance of the percentiles over the median."""
        return (self.high_s - self.low_s) / 2 / self.measured_s


@dataclass(frozen=True)
class Compared:
    """Points with a prediction, and a line for each kernel without one."""

    points: tuple[TimePoint, ...]
    left_out: tuple[str, ...]


def device_limits_of(row: Row, calibration: GpuCalibration) -> DeviceLimits:
    """Return the limits of the GPU that a row was measured on; raises `SpecError` if unknown."""
    for capability, limits in OFFLINE_LIMITS.items():
        if row.text("capability") == f"{capability[0]}.{capability[1]}":
            return replace(limits, multiprocessors=calibration.multiprocessors)
    raise SpecError(Problem(f"compute capability {row.text('capability')!r} is none of"
                            f" {', '.join(f'{a}.{b}' for a, b in OFFLINE_LIMITS)}",
                            row.file, row.line))


def compare_times(
    rows: Sequence[Row], calibration: GpuCalibration, capture: Path
) -> Compared:
    """Predict every row of a kernel of ours that was timed call by call."""
    timing, points = GpuTiming.of(calibration), []
    left_out: dict[str, None] = {}
    for row in rows:
        if row.text("kernel") not in PASSES or row.text("l2") == "steady":
            continue
        try:
            points.append(_point(row, calibration, timing, capture))
        except NotCompiled as error:
            left_out[str(error)] = None
    return Compared(tuple(points), tuple(left_out))


def _point(
    row: Row, calibration: GpuCalibration, timing: GpuTiming, capture: Path
) -> TimePoint:
    call, limits = row_call(row, capture), device_limits_of(row, calibration)
    described = passes(call, limits)
    launches = priced(described, limits.capability, calibration.values()["l2_capacity"],
                      warm=row.text("l2") == "warm")
    times = [timing.launch(launch) for launch in launches]
    names = [one.kernel.rsplit(".", 1)[-1] for one in described]
    measured, low, high = (row.number(name) * 1e-6
                           for name in ("time_us", "time_us_p20", "time_us_p80"))
    longest = max(range(len(times)), key=lambda i: times[i].time_s)
    return TimePoint(
        row, call, measured, low, high, timing.call_s(launches),
        tuple(zip(names, map(_terms, times), strict=True)),
        f"{times[longest].bound} of {names[longest]}",
    )


def _terms(time: LaunchTime) -> dict[str, float]:
    return {"start": time.start_s, "ends": time.ends_s, **time.busy_s, "loop": time.loop_s}


def groups(points: Iterable[TimePoint]) -> dict[str, list[TimePoint]]:
    """Return points by kernel and by region: B·n, state of the L2, format, head dimension, file."""
    found: dict[str, list[TimePoint]] = {}
    for point in points:
        row, keys = point.row, point.call.sizes.batch * point.call.sizes.context
        size = "B·n up to 32k" if keys <= 32768 else "B·n up to 128k" if keys <= 131072 \
            else "B·n above 128k"
        for name in (point.call.kernel, size, f"L2 {row.text('l2')}", row.text("dtype"),
                     f"d = {point.call.sizes.head_dim}", row.text("kv_layout"),
                     row.text("inputs"), Path(row.file).name):
            found.setdefault(name, []).append(point)
    return found
