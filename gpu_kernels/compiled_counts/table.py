"""The committed table of compiled kernels, by kernel and by what it was compiled for."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpu_kernels.compiled_counts.sass import KernelSteps
from hw_models.gpu.launch import Steps
from hw_models.problems import Problem, SpecError

KINDS = ("instructions", "barriers", "special", "tensor")
PARTS = ("once", "turn", "branch")
COLUMNS = ("kernel", "variant", "num_warps", "num_stages", "registers", "shared_bytes",
           *(f"{part}_{kind}" for part in PARTS for kind in KINDS),
           "capability", "triton", "sources")
IGNORED = frozenset({"K_STRIDE_N", "V_STRIDE_N", "PDL", "SHARED", "BLOCKS"})
"""Compile-time arguments that change addresses, or an instruction or two."""


class NotCompiled(ValueError):
    """The table has no such kernel: nothing is known of its registers and instructions."""


@dataclass(frozen=True)
class Variant:
    """One kernel as it is compiled: compile-time arguments, warps and pipeline stages.

    kernel: module below `gpu_kernels` and name; arguments: as text, sorted (`variant_text`).
    """

    kernel: str
    arguments: str
    num_warps: int
    num_stages: int


@dataclass(frozen=True)
class Compiled:
    """What the compiler made of a variant.

    registers: per thread; shared_bytes: of a program; steps: what a warp executes.
    """

    registers: int
    shared_bytes: int
    steps: KernelSteps


def variant_text(arguments: Mapping[str, object]) -> str:
    """Return compile-time arguments as the table has them: sorted `NAME=value`."""
    return " ".join(f"{name}={value:d}" if isinstance(value, bool) else f"{name}={value}"
                    for name, value in sorted(arguments.items()) if name not in IGNORED)


def table_path(capability: tuple[int, int]) -> Path:
    """Return where the table of one compute capability lies."""
    return Path(__file__).parent / f"sm_{capability[0]}{capability[1]}.csv"


@lru_cache
def compiled_kernels(capability: tuple[int, int]) -> dict[Variant, Compiled]:
    """Return the table of one compute capability; raises `SpecError` if there is none."""
    path = table_path(capability)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        raise SpecError(Problem(
            f"no kernels were compiled for compute capability {capability[0]}.{capability[1]}: "
            f"python -m gpu_kernels.compiled_counts writes {path.name}")) from None
    found = {}
    for row in csv.DictReader(text.splitlines()):
        key = Variant(row["kernel"], row["variant"], int(row["num_warps"]), int(row["num_stages"]))
        parts = (Steps(*(float(row[f"{part}_{kind}"]) for kind in KINDS)) for part in PARTS)
        found[key] = Compiled(int(row["registers"]), int(row["shared_bytes"]),
                              KernelSteps(*parts))
    return found


def compiled(variant: Variant, capability: tuple[int, int]) -> Compiled:
    """Return what the compiler made of a variant; raises `NotCompiled` where nobody counted it."""
    found = compiled_kernels(capability).get(variant)
    if found is None:
        raise NotCompiled(
            f"{variant.kernel} ({variant.arguments}, {variant.num_warps} warps, "
            f"{variant.num_stages} stages) is not in {table_path(capability).name}")
    return found
