"""What was measured of attention kernels beside what is predicted: times, DRAM bytes and joules.

No parameter is fitted on any of it. Needs neither PyTorch nor Triton.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_kernels.launches.call import DecodeCall

CAPTURE = Path(__file__).parent.parent / "captures" / "smollm2-135m.npz"
"""The captured attention that the measured points on a capture were made of."""
Rows = tuple[dict[str, Any], ...]


@lru_cache
def time_rows(accelerator: str) -> Rows:
    """Return timed calls beside their predictions.

    unseen: nobody had looked at it while the model was built (`gpu_kernels.validation.unseen`).
    """
    from gpu_kernels.calibration.rows import read_rows
    from gpu_kernels.validation.committed import CALIBRATED
    from gpu_kernels.validation.times import BENCH_COLUMNS, compare_times
    from gpu_kernels.validation.unseen import unseen
    from hw_models.gpu.calibration import load_calibration

    committed = CALIBRATED[accelerator]
    rows = read_rows(committed.timed, BENCH_COLUMNS, "bench")
    points = compare_times(rows, load_calibration(committed.calibration), CAPTURE).points
    apart = set(map(id, unseen(points)))
    return tuple(
        _call(accelerator, p.call) | {
            "kv_layout": p.row.text("kv_layout"), "inputs": p.row.text("inputs"),
            "l2": p.row.text("l2"), "measured_s": p.measured_s, "low_s": p.low_s,
            "high_s": p.high_s, "predicted_s": p.predicted_s, "error": p.error, "noise": p.noise,
            "within_noise": p.within_noise, "bound": p.bound, "unseen": id(p) in apart,
            "file": Path(p.row.file).name, "device": p.row.text("device"),
            "driver": p.row.text("driver"), "date_utc": p.row.text("date_utc")}
        for p in points
    )


@lru_cache
def byte_rows(accelerator: str) -> Rows:
    """Return DRAM bytes, read and written, that the profiler counted, beside the predicted.

    part: one kernel of the call, or `all` of them.
    """
    from gpu_kernels.calibration.rows import read_rows
    from gpu_kernels.validation.committed import CALIBRATED
    from gpu_kernels.validation.dram import CASE, COUNTED_COLUMNS, compare_bytes
    from hw_models.gpu.calibration import load_calibration

    committed = CALIBRATED[accelerator]
    counted = read_rows([committed.counted] if committed.counted else [], COUNTED_COLUMNS,
                        "counted-bytes")
    found = []
    for p in compare_bytes(counted, load_calibration(committed.calibration)):
        kernel, batch, context = CASE.findall(p.case)[0]
        found.append({
            "accelerator": accelerator, "kernel": kernel, "batch": int(batch),
            "context": int(context), "part": p.kernel, "counted_bytes": p.counted,
            "predicted_bytes": p.predicted, "error": p.error})
    return tuple(found)


@lru_cache
def energy_rows(accelerator: str) -> Rows:
    """Return joules of calls that were repeated for seconds beside the predicted, board included.

    error_at_measured_time: what is left of the error if time and clock are those measured.
    """
    from gpu_kernels.calibration.rows import read_rows
    from gpu_kernels.validation.committed import CALIBRATED
    from gpu_kernels.validation.energies import compare_energies
    from gpu_kernels.validation.times import BENCH_COLUMNS
    from hw_models.gpu.calibration import load_calibration

    committed = CALIBRATED[accelerator]
    rows = read_rows(committed.timed, BENCH_COLUMNS, "bench")
    return tuple(
        _call(accelerator, p.call) | {
            "measured_s": p.measured_s, "measured_j": p.measured_j, "predicted_j": p.load.energy_j,
            "error": p.error, "error_at_measured_time": p.error_at_measured_time,
            "measured_w": p.measured_w, "predicted_w": p.load.power_w}
        for p in compare_energies(rows, load_calibration(committed.calibration), CAPTURE)
    )


TABLES: dict[str, Callable[[str], Rows]] = {
    "validation": time_rows, "validation_bytes": byte_rows, "validation_energy": energy_rows,
}
"""Table of a run -> its rows for one accelerator."""


def _call(accelerator: str, call: DecodeCall) -> dict[str, Any]:
    return {"accelerator": accelerator, "kernel": call.kernel, "batch": call.sizes.batch,
            "context": call.sizes.context, "head_dim": call.sizes.head_dim, "dtype": call.dtype,
            "samples": call.samples, "tile": call.tile}
