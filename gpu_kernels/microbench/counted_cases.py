"""Calls whose memory traffic the profiler counts, each with the traffic that is expected of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_kernels.microbench.memory_probes import GATHER_BYTES, INFLIGHT_BYTES, gather, stream

if TYPE_CHECKING:
    import torch

    from gpu_kernels.bench.inputs import Inputs, Shape

DECODE_SHAPE = (32, 8, 128)
"""Query heads, KV heads and head dimension; bf16, nearly flat attention."""
DECODE_SIZES = ((1, 32768), (16, 32768))
KEYS_PER_SAMPLE = {"s2anta_flash": 16, "s2anta_comb": 128}


@dataclass(frozen=True)
class Case:
    """One call: its name and expected DRAM bytes, all caches empty before each of its kernels.

    prepare: makes what the call needs and returns (call, bytes read, bytes written).
    """

    name: str
    prepare: Callable[[], tuple[Callable[[], Any], int, int]]


def cases(device: torch.device) -> Iterator[Case]:
    """Yield streams and gathers, then dense and sampled decode on nearly flat attention."""
    from gpu_kernels.microbench.lab import Lab
    from gpu_kernels.split_plan import device_limits

    lab, per = Lab(device), device_limits(device).multiprocessors
    probes = {"stream": stream("counted", "cold", INFLIGHT_BYTES, 4 * per)}
    for row_bytes, density, order in ((64, 1 / 16, "sorted"), (64, 1 / 16, "shuffled"),
                                      (128, 1 / 16, "shuffled"), (256, 1 / 16, "sorted"),
                                      (256, 1 / 16, "shuffled")):
        probes[f"gather_{row_bytes}_{order}"] = gather(
            "counted", "cold", GATHER_BYTES, 8 * per, row_bytes, density, order=order)
    for name, probe in probes.items():
        s = probe.setting

        def prepare(p: Any = probe, s: Any = s) -> tuple[Callable[[], Any], int, int]:
            return p.make(lab), s.read_bytes, s.write_bytes
        yield Case(name, prepare)
    for batch, context in DECODE_SIZES:
        for kernel in ("dense", *KEYS_PER_SAMPLE):
            def decode(k: str = kernel, b: int = batch, n: int = context) -> Any:
                return _decode(k, b, n, device)
            yield Case(f"{kernel}_b{batch}_n{context}", decode)


def _decode(
    kernel: str, batch: int, context: int, device: torch.device
) -> tuple[Callable[[], Any], int, int]:
    import torch

    from gpu_kernels.bench.inputs import Shape, flat_inputs
    from gpu_kernels.workspace import Workspace

    shape = Shape(batch, context, *DECODE_SHAPE)
    inputs = flat_inputs(shape, torch.bfloat16, "NHD", device, 0)
    workspace = Workspace()
    call, cache_bytes = _sampled(kernel, shape, inputs, workspace)
    call()
    written = workspace.nbytes + inputs.q.nbytes
    # what a kernel leaves for the next one is read back once
    return call, cache_bytes + workspace.nbytes + inputs.q.nbytes, written


def _sampled(
    kernel: str, shape: Shape, inputs: Inputs, workspace: Any
) -> tuple[Callable[[], Any], int]:
    """Return the call and the distinct bytes of the cache that it reads."""
    import torch

    from gpu_kernels.bench import moved
    from gpu_kernels.dense.api import dense_decode
    from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
    from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
    from gpu_kernels.s2anta_flash.budget import rows_per_head
    from gpu_kernels.s2anta_flash.plan import DEFAULT_TILE

    tensors = (inputs.q, inputs.k, inputs.v)
    itemsize = inputs.k.element_size()
    if kernel == "dense":
        rows = shape.batch * shape.num_kv_heads * shape.context
        return (lambda: dense_decode(*tensors, workspace=workspace),
                moved.cache_bytes(shape, rows, itemsize))
    samples = shape.context // KEYS_PER_SAMPLE[kernel]
    seed = torch.tensor([12345, 0], dtype=torch.int64, device=inputs.q.device)
    decode: Callable[..., Any] = s2anta_comb_decode
    count = samples
    if kernel == "s2anta_flash":
        decode, count = s2anta_flash_decode, rows_per_head(samples, DEFAULT_TILE, shape.context)
    drawn = torch.empty(*inputs.q.shape[:2], count, dtype=torch.int32, device=inputs.q.device)
    decode(*tensors, samples=samples, seed=seed, workspace=workspace, rows=drawn)
    unique = moved.union_rows(drawn, shape)
    return (lambda: decode(*tensors, samples=samples, seed=seed, workspace=workspace),
            moved.cache_bytes(shape, unique, itemsize))
