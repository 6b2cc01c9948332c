"""Compiling the kernels of a call for a GPU that is not there, and reading what came out.

Needs Triton's compiler but no driver: the call runs on CPU tensors with its launches recorded
instead of run. Not possible where TRITON_INTERPRET=1 replaced the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

from gpu_kernels import launch, request, split_plan
from gpu_kernels.machine_code import disassembled

LAUNCH_OPTIONS = ("num_warps", "num_stages", "launch_pdl", "maxnreg")


@dataclass(frozen=True)
class CompiledKernel:
    """One kernel as compiled: resources per block and the instructions of interest.

    shared_bytes: static and dynamic shared memory of a block; registers: per thread;
    spill_bytes: local memory per thread; tensor_core: whether its PTX multiplies matrices;
    cubin: the machine code.
    """

    name: str
    num_warps: int
    shared_bytes: int
    registers: int
    spill_bytes: int
    tensor_core: bool
    cubin: bytes = field(repr=False)


@dataclass(frozen=True)
class RecordedLaunch:
    """A launch that was not run: the Triton kernel, its grid, arguments and options by name."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: dict[str, Any]


@contextmanager
def _recorded() -> Iterator[list[RecordedLaunch]]:
    from triton.runtime.jit import JITFunction

    launches: list[RecordedLaunch] = []

    def record(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        arguments = dict(zip(self.arg_names, args, strict=False)) | kwargs
        launches.append(RecordedLaunch(self, tuple(grid), arguments))

    with (
        mock.patch.object(JITFunction, "run", record),
        mock.patch.object(request, "check_device", return_value=None),
    ):
        yield launches


def record_call(
    call: Callable[[], Any], capability: tuple[int, int], multiprocessors: int | None = None
) -> list[RecordedLaunch]:
    """Return what `call` would launch on a GPU of one compute capability.

    call: runs a decode function on CPU tensors; nothing is computed. multiprocessors: of that GPU,
    instead of those in `OFFLINE_LIMITS`.
    """
    limits = split_plan.OFFLINE_LIMITS[capability]
    if multiprocessors is not None:
        limits = replace(limits, multiprocessors=multiprocessors)
    overlaps = capability >= (9, 0)
    with (
        mock.patch.object(split_plan, "INTERPRETER_LIMITS", limits),
        mock.patch.object(launch, "overlaps_launches", return_value=overlaps),
        mock.patch.object(request, "reads_float8", return_value=capability >= (8, 9)),
        _recorded() as launches,
    ):
        split_plan.device_limits.cache_clear()
        call()
    split_plan.device_limits.cache_clear()
    return launches


def compile_call(call: Callable[[], Any], capability: tuple[int, int]) -> list[CompiledKernel]:
    """Compile every kernel that `call` launches for one compute capability."""
    return [compile_launch(launch, capability) for launch in record_call(call, capability)]


def compile_launch(recorded: RecordedLaunch, capability: tuple[int, int]) -> CompiledKernel:
    """Compile the kernel of one launch for one compute capability."""
    from triton.backends.compiler import GPUTarget

    target = GPUTarget("cuda", 10 * capability[0] + capability[1], 32)
    return _compiled(recorded.kernel, dict(recorded.arguments), target)


def _compiled(kernel: Any, arguments: dict[str, Any], target: Any) -> CompiledKernel:
    import triton
    from triton.compiler import ASTSource

    options = {k: arguments.pop(k) for k in LAUNCH_OPTIONS if k in arguments}
    fixed = {p.name for p in kernel.params if p.is_constexpr}
    signature, constants, attributes = {}, {}, {}
    for index, name in enumerate(kernel.arg_names):
        value = arguments.get(name, kernel.params[index].default)
        kind = "constexpr" if name in fixed else _kind(value, kernel.params[index])
        signature[name] = kind
        if kind == "constexpr":
            constants[name] = value
        elif _divisible(value):
            attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    built = triton.compile(source, target=target, options={"enable_fp_fusion": True} | options)
    usage = _resources(built.asm["cubin"])
    return CompiledKernel(
        kernel.__name__, built.metadata.num_warps, built.metadata.shared, usage["REG"],
        usage["LOCAL"] + usage["STACK"],
        bool(re.search(r"\b(mma\.sync|wgmma\.mma|tcgen05\.mma)", built.asm["ptx"])),
        built.asm["cubin"],
    )


def _kind(value: Any, parameter: Any) -> str:
    import torch

    if value is None or (isinstance(value, int) and value == 1 and not parameter.do_not_specialize):
        return "constexpr"
    if isinstance(value, torch.Tensor):
        names = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32",
                 torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
                 torch.float8_e4m3fn: "fp8e4nv"}
        return "*" + names[value.dtype]
    if isinstance(value, float):
        return "fp32"
    return "i32" if abs(value) < 2**31 else "i64"


def _divisible(value: Any) -> bool:
    import torch

    if isinstance(value, torch.Tensor):
        return bool(value.data_ptr() % 16 == 0)
    return bool(isinstance(value, int) and value % 16 == 0)


def _resources(cubin: bytes) -> dict[str, int]:
    shown = disassembled(cubin, "-res-usage")
    return {name: int(value) for name, value in re.findall(r"(\w+):(\d+)", shown)}
