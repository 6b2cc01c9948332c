"""Times launch configurations of our kernels on one device: `python -m gpu_kernels.bench.tune`.

The rules in the kernels' `plan` functions were chosen from its tables.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_kernels.split_plan import LaunchPlan

if TYPE_CHECKING:
    import torch

    from gpu_kernels.bench.inputs import Inputs
    from gpu_kernels.bench.timing import Stopwatch

PROGRAMS = (1, 2, 4, 8, 11, 16, 22, 32, 43, 64, 86, 128)
HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128


@dataclass(frozen=True)
class Trial:
    """One configuration but for the programs per sequence.

    keys_per_sample: 0 for dense; splits: 0 for comb, whose programs need not agree on any; teeth
    and draw_warps: 0 except for comb.
    """

    kernel: str
    keys_per_sample: int
    block_n: int
    num_warps: int
    num_stages: int
    splits: int = 0
    teeth: int = 0
    draw_warps: int = 0


def trials(kernel: str) -> Iterator[Trial]:
    """Yield the configurations of one kernel that are worth a measurement."""
    if kernel == "dense":
        shapes = ((32, 2, 3), (32, 2, 4), (64, 4, 2), (64, 4, 3), (64, 4, 4), (128, 4, 2),
                  (128, 4, 3), (128, 8, 3), (128, 4, 4))
        for shape, splits in itertools.product(shapes, (16, 32)):
            yield Trial("dense", 0, *shape, splits)
    if kernel == "s2anta_flash":
        tiles = ((32, 1, 2), (32, 1, 3), (32, 1, 4), (64, 1, 2), (64, 1, 3))
        for per, tile, splits in itertools.product((16, 32), tiles, (32, 64, 128)):
            yield Trial("s2anta_flash", per, *tile, splits)
    if kernel == "s2anta_comb":
        for shape in ((128, 1, 3), (128, 2, 3), (128, 4, 2), (128, 4, 3), (256, 4, 2), (256, 4, 3),
                      (256, 8, 2)):
            yield Trial("s2anta_comb", 128, *shape, 0, 256, 8)
        for draw in ((256, 4), (128, 2), (128, 4), (64, 2), (32, 1)):
            yield Trial("s2anta_comb", 128, 256, 4, 2, 0, *draw)


def program_counts(trial: Trial, batch: int) -> list[int]:
    """Return the programs per sequence to try: half a program to 16 programs per multiprocessor."""
    if not trial.splits:
        return [count for count in PROGRAMS if count >= 8]
    total = KV_HEADS * batch
    counts = [count for count in PROGRAMS
              if count <= trial.splits and 64 <= count * total <= 2112]
    return sorted({LaunchPlan(trial.block_n, 1, 1, trial.splits, count).grid_programs
                   for count in counts})


def decode_call(trial: Trial, programs: int, inputs: Inputs) -> Callable[[], torch.Tensor]:
    """Return a call of one configuration; raises what the launch would raise."""
    import torch

    from gpu_kernels.dense.api import dense_decode
    from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
    from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
    from gpu_kernels.workspace import Workspace

    tensors = (inputs.q, inputs.k, inputs.v)
    arguments: dict[str, Any] = {
        "workspace": Workspace(), "out": torch.empty_like(inputs.q),
        "launch": LaunchPlan(trial.block_n, trial.num_warps, trial.num_stages,
                             trial.splits or programs, programs),
    }
    if trial.kernel == "dense":
        return lambda: dense_decode(*tensors, **arguments)
    arguments |= {
        "seed": torch.tensor([12345, 0], dtype=torch.int64, device=inputs.q.device),
        "samples": inputs.k.shape[1] // trial.keys_per_sample, "tile": trial.block_n,
    }
    if trial.kernel == "s2anta_flash":
        return lambda: s2anta_flash_decode(*tensors, **arguments)
    arguments["draw"] = (trial.teeth, trial.draw_warps)
    return lambda: s2anta_comb_decode(*tensors, **arguments)


def measured(
    inputs: Inputs, watch: Stopwatch, chosen: list[Trial], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield a row per configuration and number of programs; those that cannot run are left out."""
    from triton.runtime.errors import OutOfResources

    for trial in chosen:
        for programs in program_counts(trial, inputs.q.shape[0]):
            try:
                call = decode_call(trial, programs, inputs)
                timing = watch.measure(call, cold=True, repeats=repeats)
            except OutOfResources:
                break
            yield asdict(trial) | {"programs": programs, "time_us": round(timing.time_s * 1e6, 2)}


def main(arguments: list[str] | None = None) -> int:
    """Print the fastest configurations of each kernel at each size; exit 2 without a GPU."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.bench.tune", description=__doc__)
    parser.add_argument("--kernels", default="dense,s2anta_flash,s2anta_comb")
    parser.add_argument("--sizes", default="1x32768,4x32768,16x32768", help="batch x context")
    parser.add_argument("--best", type=int, default=5, help="how many to print")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--out", type=Path, help="CSV with every configuration")
    parser.add_argument("--compile", metavar="I/K", help="only compile every K-th from the I-th on")
    options = parser.parse_args(arguments)
    import torch

    from gpu_kernels.bench.inputs import Shape, flat_inputs
    from gpu_kernels.bench.timing import Stopwatch

    if not torch.cuda.is_available():
        print("tuning needs a CUDA device, and none is visible", file=sys.stderr)  # noqa: T201
        return 2
    device = torch.device("cuda")
    everything = [trial for kernel in options.kernels.split(",") for trial in trials(kernel)]
    rows: list[dict[str, Any]] = []
    for size in options.sizes.split(","):
        batch, context = map(int, size.split("x"))
        shape = Shape(batch, context, HEADS, KV_HEADS, HEAD_DIM)
        inputs = flat_inputs(shape, torch.bfloat16, "NHD", device, 0)
        if options.compile:
            part, parts = map(int, options.compile.split("/"))
            for trial in everything[part::parts]:
                decode_call(trial, 16, inputs)()
            torch.cuda.synchronize()
            return 0
        found = list(measured(inputs, Stopwatch(device), everything, options.repeats))
        rows += [{"batch": batch, "context": context} | row for row in found]
        _print_best(size, found, options.best)
    if options.out:
        with options.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return 0


def _print_best(size: str, found: list[dict[str, Any]], best: int) -> None:
    kinds = dict.fromkeys((row["kernel"], row["keys_per_sample"], row["block_n"]) for row in found)
    for kind in kinds:
        mine = [r for r in found if (r["kernel"], r["keys_per_sample"], r["block_n"]) == kind]
        for row in sorted(mine, key=lambda r: float(r["time_us"]))[:best]:
            print(size, *row.values(), flush=True)  # noqa: T201 - the command's answer


if __name__ == "__main__":
    sys.exit(main())
