"""How much faster than dense attention our kernels should be on GPUs known by datasheet alone."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hw_models.accelerator import Accelerator

if TYPE_CHECKING:
    import pandas as pd

    from gpu_kernels.launches.call import DecodeCall
    from hw_models.gpu.calibration import GpuCalibration

KERNEL_RATIOS = "kernel_ratios"
PUBLISHED = Path(__file__).parents[2] / "gpu_kernels" / "published_ratios.csv"
"""Speed-ups over dense decode as published."""


def kernel_ratios(points: pd.DataFrame, accelerators: Sequence[Accelerator]) -> pd.DataFrame:
    """Return a row per sampled point, GPU without a calibration and state of its L2.

    kernel_time_s, dense_over_kernel: predicted, with their ranges over all constants. memory_s,
    memory_bytes: of main memory; dense_memory_bytes over the latter is the ratio if bytes were all.
    bound: the term that decides. published: the printed ratio, where there is one. Empty where no
    GPU is known or no kernel was compiled for it.
    """
    import pandas as pd

    from gpu_kernels.validation.committed import CALIBRATED
    from hw_models.gpu.datasheet import STRUCTURES

    known = [one for one in accelerators if one.name in STRUCTURES and one.name not in CALIBRATED]
    rows = [row for one in known for row in _rows(points, one)]
    return pd.DataFrame(rows)


def _rows(points: pd.DataFrame, accelerator: Accelerator) -> Iterator[dict[str, Any]]:
    from gpu_kernels.compiled_counts.table import NotCompiled
    from hw_models.gpu.datasheet import datasheet
    from hw_models.problems import SpecError
    from santa_sim.study.measured import decode_call

    sheet = datasheet(accelerator)
    mine = points[(points["accelerator"] == accelerator.name) & (points["status"] == "ok")]
    for row in mine.to_dict("records"):
        call = decode_call({str(name): value for name, value in row.items()})
        if call is None or call.samples == 0:
            continue
        for l2 in ("cold", "warm"):
            try:
                found = _compared(call, accelerator.name, sheet, warm=l2 == "warm")
            except (NotCompiled, SpecError):
                continue  # no kernels were compiled for this GPU or these shapes
            yield {"point": row["point"], "accelerator": accelerator.name, "kernel": call.kernel,
                   "samples": call.samples, "l2": l2, **found,
                   "published": published_ratio(accelerator.name, call)}


def _compared(
    call: DecodeCall, accelerator: str, sheet: GpuCalibration, *, warm: bool
) -> dict[str, Any]:
    from gpu_kernels.launches.describe import passes
    from gpu_kernels.launches.extremes import extremes
    from gpu_kernels.launches.priced import priced
    from gpu_kernels.split_plan import OFFLINE_LIMITS
    from hw_models.gpu.datasheet import STRUCTURES
    from hw_models.gpu.launch import KernelLaunch
    from hw_models.gpu.timing import GpuTiming
    from santa_sim.study.measured import decisive

    part = STRUCTURES[accelerator]
    limits = replace(OFFLINE_LIMITS[part.capability], multiprocessors=part.multiprocessors)
    dense = replace(call, kernel="dense", samples=0, tile=0, trials=0)

    def launches(one: DecodeCall, v: Mapping[str, float]) -> list[KernelLaunch]:
        return priced(passes(one, limits), part.capability, v["l2_capacity"], warm=warm)

    def seconds(one: DecodeCall, v: Mapping[str, float]) -> float:
        return GpuTiming(sheet.multiprocessors, v).call_s(launches(one, v))

    def ratio(v: Mapping[str, float]) -> float:
        return seconds(dense, v) / seconds(call, v)

    def memory_bytes(one: DecodeCall) -> float:
        return sum(x.stream_bytes + x.gather_bytes for x in launches(one, sheet.values()))

    def memory_s(one: DecodeCall) -> float:
        timing = GpuTiming.of(sheet)
        return sum(timing.launch(x).busy_s["memory"] for x in launches(one, sheet.values()))

    time, shortest, longest = extremes(sheet, lambda v: seconds(call, v))
    faster, least, most = extremes(sheet, ratio)
    return {
        "kernel_time_s": time, "kernel_time_low_s": shortest, "kernel_time_high_s": longest,
        "dense_time_s": seconds(dense, sheet.values()), "dense_over_kernel": faster,
        "ratio_low": least, "ratio_high": most, "memory_s": memory_s(call),
        "memory_bytes": memory_bytes(call),
        "dense_memory_bytes": memory_bytes(dense),
        "bound": decisive(GpuTiming.of(sheet), launches(call, sheet.values()),
                          passes(call, limits)),
    }


@lru_cache
def _published() -> dict[tuple[str, str, int, int, int], float]:
    with PUBLISHED.open(newline="", encoding="utf-8") as file:
        return {(row["accelerator"], row["kernel"], int(row["samples"]), int(row["batch"]),
                 int(row["context"])): float(row["dense_over_kernel"])
                for row in csv.DictReader(file)}


def published_ratio(accelerator: str, call: DecodeCall) -> float | None:
    """Return the printed speed-up of a call over dense decode; None if nobody printed one."""
    return _published().get((accelerator, call.kernel, call.samples, call.sizes.batch,
                             call.sizes.context))
