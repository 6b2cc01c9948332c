"""Command line: `python -m gpu_kernels.compiled_counts BENCH_CONFIG… [--capability 9.0]`.

Compiles, without a GPU, every kernel that the configurations launch on the GPUs of one compute
capability, and writes registers, shared memory and instructions to the committed table. Needs
PyTorch and Triton; 1 to 3 s per kernel. Triton's version decides the code: use the one that the
measured machine has. Each row has a hash of the sources that it was counted from.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from gpu_kernels.compiled_counts.sass import kernel_steps
from gpu_kernels.compiled_counts.sources import source_hash
from gpu_kernels.compiled_counts.table import COLUMNS, KINDS, PARTS, Variant, table_path
from gpu_kernels.launches.call import DecodeCall
from gpu_kernels.offline_compile import RecordedLaunch
from hw_models.problems import SpecError


def main(arguments: list[str] | None = None) -> int:
    """Compile and count; exit 0, 2 with one clear line for a bad file or a missing compiler."""
    parser = argparse.ArgumentParser(prog="python -m gpu_kernels.compiled_counts",
                                     description=__doc__)
    parser.add_argument("configs", type=Path, nargs="+", help="files as for gpu_kernels.bench")
    parser.add_argument("--capability", default="9.0", help="compute capability, such as 8.9")
    parser.add_argument("--add", action="store_true",
                        help="keep the table and compile only what it lacks: for more shapes, not"
                             " after a change of a kernel")
    parser.add_argument("--out", type=Path, help="table to write instead of the committed one")
    options = parser.parse_args(arguments)
    from gpu_kernels.bench.config import load_config
    from gpu_kernels.launches.bench_calls import config_calls
    from gpu_kernels.split_plan import OFFLINE_LIMITS

    major, _, minor = options.capability.partition(".")
    capability = (int(major), int(minor or 0)) if (major + minor).isdigit() else (0, 0)
    if capability not in OFFLINE_LIMITS:
        parts = ", ".join(f"{a}.{b}" for a, b in OFFLINE_LIMITS)
        return _refuse(f"--capability must be one of {parts}, got {options.capability!r}")
    try:
        calls = [call for path in options.configs for call in config_calls(load_config(path))]
        import torch  # noqa: F401
        import triton  # noqa: F401
    except SpecError as error:
        return _refuse(str(error))
    except ImportError:
        return _refuse("counting needs PyTorch and Triton: pip install 'santa_sim[gpu]'")
    kept = list(_rows(table_path(capability))) if options.add else []
    known = {_variant(row) for row in kept}
    rows = kept + list(_counted(calls, capability, known))
    _write(options.out or table_path(capability), rows)
    sys.stdout.write(f"{len(rows)} kernels counted\n")
    return 0


def _refuse(line: str) -> int:
    sys.stderr.write(line + "\n")
    return 2


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _variant(row: dict[str, str]) -> Variant:
    return Variant(row["kernel"], row["variant"], int(row["num_warps"]), int(row["num_stages"]))


def _counted(
    calls: Sequence[DecodeCall], capability: tuple[int, int], known: Container[Variant]
) -> Iterator[dict[str, str]]:
    from gpu_kernels.compiled_counts.recorded import (
        microbench_launches,
        recorded_launches,
        variant_of,
    )
    from gpu_kernels.split_plan import OFFLINE_LIMITS
    from hw_models.gpu.datasheet import STRUCTURES

    # plans follow the number of multiprocessors
    sizes = {part.multiprocessors for part in STRUCTURES.values() if part.capability == capability}
    sizes.add(OFFLINE_LIMITS[capability].multiprocessors)
    decode = (launch for call in calls for size in sorted(sizes)
              for launch in recorded_launches(call, capability, multiprocessors=size))
    found = {variant_of(launch): (launch, False) for launch in decode}
    found |= {variant_of(launch): (launch, True) for launch in microbench_launches(capability)}
    for variant, (launch, unrolled) in found.items():
        if variant not in known:
            yield _row(variant, launch, capability, unrolled=unrolled)


def _row(
    variant: Variant, recorded: RecordedLaunch, capability: tuple[int, int], *, unrolled: bool
) -> dict[str, str]:
    import triton

    from gpu_kernels.machine_code import disassembled
    from gpu_kernels.offline_compile import compile_launch

    built = compile_launch(recorded, capability)
    steps = kernel_steps(disassembled(built.cubin), unrolled=unrolled)
    sys.stderr.write(f"{variant.kernel} {variant.arguments}\n")
    counts = (f"{getattr(getattr(steps, part), kind):g}" for part in PARTS for kind in KINDS)
    return dict(zip(COLUMNS, (
        variant.kernel, variant.arguments, str(variant.num_warps), str(variant.num_stages),
        str(built.registers), str(built.shared_bytes), *counts,
        f"{capability[0]}.{capability[1]}", triton.__version__,
        source_hash(variant.kernel),
    ), strict=True))


def _write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: [row[name] for name in COLUMNS[:4]]))


if __name__ == "__main__":
    sys.exit(main())
