"""What is known of an accelerator by measurement: its kernels' predicted times, and their errors.

Needs neither PyTorch nor Triton: kernels are described by their own plans, and what was measured is
in committed files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hw_models.accelerator import Accelerator
from santa_sim.study.held_out import TABLES

if TYPE_CHECKING:
    import pandas as pd

    from gpu_kernels.launches.call import DecodeCall, Kernel
    from hw_models.gpu.timing import GpuTiming

KERNELS: dict[tuple[str, str], Kernel] = {
    ("exact", "dense"): "dense", ("exact", "s2anta_flash"): "s2anta_flash",
    ("exact", "s2anta_comb"): "s2anta_comb", ("exact", "s2anta_prop"): "s2anta_prop",
    ("bernoulli_qk", "dense"): "bernoulli_qk",
    ("bernoulli_qk", "s2anta_flash"): "bernoulli_qk_flash",
}
"""(score stage, value stage) -> kernel that runs it."""
DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
KERNEL_TIMES, FITTED_PARTS = "kernel_times", "fitted_parts"


def measured_tables(
    points: pd.DataFrame, accelerators: Sequence[Accelerator]
) -> dict[str, pd.DataFrame]:
    """Return tables for the accelerators that have a calibration; none where none has.

    kernel_times: for each point of a method with a kernel of ours, its predicted time in s and the
    term that decides, or why there is none. validation, validation_bytes, validation_energy: what
    was measured beside predictions (`santa_sim.study.held_out`). fitted_parts: errors of the
    microbenchmarks that the parameters were fitted on. kernel_ratios: of other GPUs, by datasheet
    (`santa_sim.study.kernel_ratios`).
    """
    from gpu_kernels.validation.committed import CALIBRATED
    from santa_sim.study.kernel_ratios import KERNEL_RATIOS, kernel_ratios

    ratios = kernel_ratios(points, accelerators)
    found = {} if ratios.empty else {KERNEL_RATIOS: ratios}
    known = [one for one in accelerators if one.name in CALIBRATED]
    if not known:
        return found
    import pandas as pd

    tables = {
        KERNEL_TIMES: [row for one in known for row in _kernel_times(points, one)],
        **{name: [row for one in known for row in rows(one.name)] for name, rows in TABLES.items()},
        FITTED_PARTS: [row for one in known for row in _fitted_parts(one.name)],
    }
    return found | {name: pd.DataFrame(rows) for name, rows in tables.items()}


def _kernel_times(points: pd.DataFrame, accelerator: Accelerator) -> Iterator[dict[str, Any]]:
    from gpu_kernels.compiled_counts.table import NotCompiled
    from gpu_kernels.launches.describe import passes
    from gpu_kernels.launches.priced import priced
    from gpu_kernels.split_plan import OFFLINE_LIMITS
    from gpu_kernels.validation.committed import CALIBRATED
    from hw_models.gpu.calibration import load_calibration
    from hw_models.gpu.timing import GpuTiming

    committed = CALIBRATED[accelerator.name]
    calibration = load_calibration(committed.calibration)
    limits, timing = OFFLINE_LIMITS[committed.capability], GpuTiming.of(calibration)
    mine = points[(points["accelerator"] == accelerator.name) & (points["status"] == "ok")]
    for row in mine.to_dict("records"):
        found = {"point": row["point"], "accelerator": accelerator.name, "kernel": "",
                 "kernel_time_s": None, "kernel_bound": "", "note": ""}
        call = decode_call({str(name): value for name, value in row.items()})
        if call is None:
            yield found | {"note": "no kernel runs this method"}
            continue
        try:
            described = passes(call, limits)
            launches = priced(described, limits.capability, calibration.values()["l2_capacity"],
                              warm=False)
        except NotCompiled as error:
            yield found | {"kernel": call.kernel, "note": str(error)}
            continue
        yield found | {"kernel": call.kernel, "kernel_time_s": timing.call_s(launches),
                       "kernel_bound": decisive(timing, launches, described)}


def decisive(timing: GpuTiming, launches: Sequence[Any], described: Sequence[Any]) -> str:
    """Return the term that takes longest in the launch that takes longest, and its kernel."""
    times = [timing.launch(launch) for launch in launches]
    longest = max(range(len(times)), key=lambda i: times[i].time_s)
    return f"{times[longest].bound} of {described[longest].kernel.rsplit('.', 1)[-1]}"


def decode_call(row: Mapping[str, Any]) -> DecodeCall | None:
    """Return the call of the kernel that runs a point's method; None if there is none."""
    from dataclasses import replace

    from gpu_kernels.decode_sizes import Sizes
    from gpu_kernels.launches.call import ITEMSIZE, DecodeCall
    from gpu_kernels.launches.expected_rows import expected_features

    kernel = KERNELS.get((row["score_stage"], row["value_stage"]))
    dtype = DTYPES.get(row["dtype"])
    if kernel is None or dtype is None:
        return None
    sizes = Sizes(row["batch"], row["context"], row["num_qo_heads"], row["num_kv_heads"],
                  row["head_dim"], ITEMSIZE[dtype])
    sampled = row["value_stage"] != "dense"
    call = DecodeCall(kernel, sizes, dtype, dtype, row["samples_requested"] if sampled else 0,
                      row["tile"] if sampled else 0,
                      row["trials"] if row["score_stage"] == "bernoulli_qk" else 0)
    rows = row["unique_row_fraction"] * call.keys
    return replace(call, unique_rows=rows, features=expected_features(call))


def _fitted_parts(accelerator: str) -> Iterator[dict[str, Any]]:
    from gpu_kernels.validation.committed import CALIBRATED
    from hw_models.gpu.calibration import load_calibration

    calibration = load_calibration(CALIBRATED[accelerator].calibration)
    for kind, parts in (("fitted on", calibration.fitted), ("held out", calibration.held_out)):
        for name, found in parts.items():
            yield {"accelerator": accelerator, "set": kind, "part": name, **found.model_dump()}
