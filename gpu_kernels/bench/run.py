"""One bench run: for every size and input, time the peers and our kernels and note their error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_kernels.bench import moved
from gpu_kernels.bench.config import BenchConfig, InputKind, Kernel, Size
from gpu_kernels.bench.inputs import (
    Inputs,
    Shape,
    capture_scores,
    flat_inputs,
    scored_inputs,
    zipf_scores,
)
from gpu_kernels.bench.peers import PeerUnavailable, peer
from gpu_kernels.bench.timing import TIMER, Stopwatch

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Measurement:
    """One row of the measurement file: one kernel, size, input and state of the cache.

    samples: rows asked for per query head, effective_samples: drawn; n for dense kernels.
    moved_bytes: unique cache bytes plus workspace traffic. rel_error: ‖out − exact‖/‖exact‖ over
    all heads, for sampled kernels their sampling error for one seed.
    """

    kernel: str
    batch: int
    context: int
    samples: int
    effective_samples: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: str
    kv_layout: str
    inputs: str
    effective_support: float
    tile: int
    offsets: str
    l2: str
    time_us: float
    time_us_p20: float
    time_us_p80: float
    moved_bytes: int
    moved_gb_per_s: float
    effective_gb_per_s: float
    rel_error: float
    repeats: int
    timer: str


@dataclass(frozen=True)
class _Candidate:
    """A call to time, and what it reads."""

    name: str
    call: Callable[[], torch.Tensor]
    moved_bytes: int
    samples: int
    effective_samples: int
    tile: int
    offsets: str


def run_bench(
    config: BenchConfig, watch: Stopwatch, report: Callable[[str], None]
) -> Iterator[Measurement]:
    """Yield a measurement as soon as it is taken.

    watch: times the calls, on its device; report: gets a line for each peer that cannot run.
    """
    device = watch.device
    for size in config.sizes:
        for kind in config.inputs:
            inputs = make_inputs(config, size, kind, device)
            exact = _exact(inputs, config.geometry.kv_layout)
            for candidate in _candidates(config, size, inputs, report):
                out = candidate.call().double()
                error = float((out - exact).norm() / exact.norm())
                for l2 in config.l2:
                    yield _measured(config, size, inputs, candidate, watch, l2, error)
            del inputs, exact


def shape_of(config: BenchConfig, size: Size) -> Shape:
    """Return the sizes of one point."""
    g = config.geometry
    return Shape(size.batch, size.context, g.num_qo_heads, g.num_kv_heads, g.head_dim)


def make_inputs(
    config: BenchConfig, size: Size, kind: InputKind, device: torch.device
) -> Inputs:
    """Return q, K and V of one size and kind."""
    import torch

    shape, geometry = shape_of(config, size), config.geometry
    dtype = getattr(torch, geometry.dtype)
    if kind.kind == "flat":
        return flat_inputs(shape, dtype, geometry.kv_layout, device, config.seed)
    if kind.kind == "zipf":
        assert kind.exponent is not None  # noqa: S101 - the config has checked it
        scores = zipf_scores(size.context, kind.exponent, shape.num_qo_heads, config.seed)
    else:
        scores = capture_scores(Path(str(kind.path)), str(kind.trace))
    return scored_inputs(
        kind.label, scores, shape, dtype, geometry.kv_layout, device, config.seed
    )


def _exact(inputs: Inputs, kv_layout: str) -> torch.Tensor:
    from gpu_kernels.dense.reference import dense_decode

    return dense_decode(inputs.q, inputs.k, inputs.v, kv_layout=kv_layout)[0]


def _candidates(
    config: BenchConfig, size: Size, inputs: Inputs, report: Callable[[str], None]
) -> Iterator[_Candidate]:
    shape = shape_of(config, size)
    layout, n = config.geometry.kv_layout, size.context
    itemsize = inputs.k.element_size()
    all_rows = shape.batch * shape.num_kv_heads * n
    for name in config.peers:
        try:
            call = peer(name, inputs, layout)
        except PeerUnavailable as error:
            report(f"not measured at batch {size.batch}, context {n}: {error}")
            continue
        yield _Candidate(name, call, moved.cache_bytes(shape, all_rows, itemsize), n, n, 0, "none")
    for kernel in config.kernels:
        yield _ours(kernel, shape, layout, inputs)


def _ours(kernel: Kernel, shape: Shape, layout: str, inputs: Inputs) -> _Candidate:
    import torch

    from gpu_kernels.workspace import Workspace

    n, itemsize = shape.context, inputs.k.element_size()
    tensors = (inputs.q, inputs.k, inputs.v)
    common: dict[str, Any] = {
        "kv_layout": layout, "workspace": Workspace(), "out": torch.empty_like(inputs.q)
    }
    if kernel.name == "dense":
        from gpu_kernels.dense.api import dense_decode

        rows = shape.batch * shape.num_kv_heads * n
        return _Candidate("dense", lambda: dense_decode(*tensors, **common),
                          moved.cache_bytes(shape, rows, itemsize), n, n, 0, "none")
    samples = max(1, n // int(kernel.keys_per_sample or 1))
    state = torch.tensor([12345, 0], dtype=torch.int64, device=inputs.q.device)
    common |= {"samples": samples, "offsets": kernel.offsets, "seed": state}
    if kernel.tile is not None:
        common["tile"] = kernel.tile
    if kernel.name == "s2anta_flash":
        from gpu_kernels.s2anta_flash.api import DEFAULT_TILE, s2anta_flash_decode
        from gpu_kernels.s2anta_flash.budget import effective_samples, rows_per_head

        tile = kernel.tile or DEFAULT_TILE
        drawn, count = effective_samples(samples, tile, n), rows_per_head(samples, tile, n)
        decode: Callable[..., torch.Tensor] = s2anta_flash_decode
        extra = 0
    else:
        from gpu_kernels.s2anta_comb.api import DEFAULT_TILE, s2anta_comb_decode

        tile, drawn, count = kernel.tile or DEFAULT_TILE, samples, samples
        decode = s2anta_comb_decode
        extra = moved.comb_bytes(shape, samples, tile, 2)
    rows = torch.empty(*inputs.q.shape[:2], count, dtype=torch.int32, device=inputs.q.device)
    decode(*tensors, **common, rows=rows)
    unique = moved.union_rows(rows, shape)
    return _Candidate(kernel.name, lambda: decode(*tensors, **common),
                      moved.cache_bytes(shape, unique, itemsize) + extra, samples, drawn, tile,
                      kernel.offsets)


def _measured(
    config: BenchConfig, size: Size, inputs: Inputs, candidate: _Candidate, watch: Stopwatch,
    l2: str, error: float,
) -> Measurement:
    shape, geometry = shape_of(config, size), config.geometry
    timing = watch.measure(candidate.call, cold=l2 == "cold", repeats=config.repeats)
    rows = shape.batch * shape.num_kv_heads * shape.context
    whole = moved.cache_bytes(shape, rows, inputs.k.element_size())
    return Measurement(
        candidate.name, size.batch, size.context, candidate.samples, candidate.effective_samples,
        geometry.num_qo_heads, geometry.num_kv_heads, geometry.head_dim, geometry.dtype,
        geometry.kv_layout, inputs.name, round(inputs.effective_support, 2), candidate.tile,
        candidate.offsets, l2, round(timing.time_s * 1e6, 3), round(timing.time_s_p20 * 1e6, 3),
        round(timing.time_s_p80 * 1e6, 3), candidate.moved_bytes,
        round(candidate.moved_bytes / timing.time_s / 1e9, 1),
        round(whole / timing.time_s / 1e9, 1), error, timing.repeats, TIMER,
    )


def as_row(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as the columns of the file."""
    return asdict(measurement)
