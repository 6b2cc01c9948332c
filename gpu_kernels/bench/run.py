"""One bench run: for every size and input, time the peers and our kernels and note their error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_kernels.bench import moved
from gpu_kernels.bench.call_energy import CallEnergy, EnergyBench
from gpu_kernels.bench.candidates import Candidate, candidates
from gpu_kernels.bench.config import BenchConfig, Geometry, InputKind, Size
from gpu_kernels.bench.inputs import (
    Inputs,
    Shape,
    capture_scores,
    flat_inputs,
    float8_inputs,
    scored_inputs,
    zipf_scores,
)
from gpu_kernels.bench.timing import TIMER, Stopwatch, Timing
from gpu_kernels.board.steady import STEADY_TIMER

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Measurement:
    """One row of the measurement file: one kernel, size, input and state of the cache.

    samples: rows asked for per query head, effective_samples: drawn; n for dense kernels. dtype: of
    the caches, and of the queries unless it is float8. trials: of ternary queries, else 0.
    moved_bytes: unique cache bytes plus workspace traffic. rel_error: ‖out − exact‖/‖exact‖ over
    all heads, for sampled kernels their sampling error for one seed.
    l2: `cold`, `warm`, or `steady`, calls without a pause for seconds on more memory than the L2
    holds: there time_us is their mean, without percentiles, and energy is known.
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
    trials: int
    l2: str
    time_us: float
    time_us_p20: float | None
    time_us_p80: float | None
    moved_bytes: int
    moved_gb_per_s: float
    effective_gb_per_s: float
    rel_error: float
    repeats: int
    timer: str
    energy: CallEnergy | None = None


def run_bench(
    config: BenchConfig, watch: Stopwatch, report: Callable[[str], None],
    energy: EnergyBench | None = None,
) -> Iterator[Measurement]:
    """Yield a measurement as soon as it is taken.

    watch: times the calls, on its device; report: gets a line for each peer or energy that cannot
    be had; energy: reads the board for the parts that ask for it.
    """
    device = watch.device
    for part in config.parts():
        for size, kind in product(part.sizes, part.inputs):
            inputs = make_inputs(part, size, kind, device)
            exact = _exact(inputs, part.geometry.kv_layout)
            shape = shape_of(part, size)
            copies = _copies(inputs, shape, energy if part.energy else None)
            for same in zip(*(candidates(part, shape, copy, report if copy is inputs else _silent)
                              for copy in copies), strict=True):
                candidate = same[0]
                out = candidate.call().double()
                error = float((out - exact).norm() / exact.norm())
                for l2 in part.l2:
                    timing = watch.measure(candidate.call, cold=l2 == "cold", repeats=part.repeats)
                    yield _measured(part, size, inputs, candidate, timing, l2, error)
                if part.energy and energy:
                    try:
                        found = energy.measure([c.call for c in same], part.energy.window_s)
                    except RuntimeError as fault:  # a peer that no graph can hold, say
                        report(f"no energy of {candidate.name} at batch {size.batch}, context"
                               f" {size.context}: {' '.join(str(fault).split())[:200]}")
                        continue
                    yield _repeated(part, size, inputs, candidate, found, error)
            del inputs, exact, copies, same, candidate, out


def _copies(inputs: Inputs, shape: Shape, energy: EnergyBench | None) -> list[Inputs]:
    """Return the inputs and, for energy, copies with caches of their own: keys alone fill the L2.

    Every kernel reads all keys, or nearly all features of them.
    """
    if energy is None:
        return [inputs]
    keys = moved.cache_bytes(shape, 0, inputs.k.element_size())
    return [inputs, *(replace(inputs, k=inputs.k.clone(), v=inputs.v.clone())
                      for _ in range(energy.buffers(keys) - 1))]


def _silent(_: str) -> None:
    """The first copy has reported."""


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
        found = flat_inputs(shape, dtype, geometry.kv_layout, device, config.seed)
        return _stored(found, geometry)
    if kind.kind == "zipf":
        assert kind.exponent is not None  # noqa: S101 - the config has checked it
        scores = zipf_scores(size.context, kind.exponent, shape.num_qo_heads, config.seed)
    else:
        scores = capture_scores(Path(str(kind.path)), str(kind.trace))
    found = scored_inputs(
        kind.label, scores, shape, dtype, geometry.kv_layout, device, config.seed
    )
    return _stored(found, geometry)


def _stored(inputs: Inputs, geometry: Geometry) -> Inputs:
    return inputs if geometry.kv_dtype is None else float8_inputs(inputs, geometry.kv_layout)


def _exact(inputs: Inputs, kv_layout: str) -> torch.Tensor:
    from gpu_kernels.dense.reference import dense_decode

    return dense_decode(inputs.q, inputs.k, inputs.v, kv_layout=kv_layout,
                        k_scale=inputs.k_scale, v_scale=inputs.v_scale)[0]


def _measured(
    config: BenchConfig, size: Size, inputs: Inputs, candidate: Candidate, timing: Timing,
    l2: str, error: float,
) -> Measurement:
    shape, geometry = shape_of(config, size), config.geometry
    whole = moved.whole_cache_bytes(shape, inputs.k.element_size())
    return Measurement(
        candidate.name, size.batch, size.context, candidate.samples, candidate.effective_samples,
        geometry.num_qo_heads, geometry.num_kv_heads, geometry.head_dim,
        geometry.kv_dtype or geometry.dtype, geometry.kv_layout, inputs.name,
        round(inputs.effective_support, 2), candidate.tile, candidate.offsets, candidate.trials,
        l2, round(timing.time_s * 1e6, 3), round(timing.time_s_p20 * 1e6, 3),
        round(timing.time_s_p80 * 1e6, 3), candidate.moved_bytes,
        round(candidate.moved_bytes / timing.time_s / 1e9, 1),
        round(whole / timing.time_s / 1e9, 1), error, timing.repeats, TIMER,
    )


def _repeated(
    config: BenchConfig, size: Size, inputs: Inputs, candidate: Candidate, found: CallEnergy,
    error: float,
) -> Measurement:
    time_s = found.time_us * 1e-6
    timed = _measured(config, size, inputs, candidate, Timing(time_s, time_s, time_s, found.calls),
                      "steady", error)
    return replace(timed, time_us_p20=None, time_us_p80=None, timer=STEADY_TIMER, energy=found)


def as_row(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as the columns of the file; those of energy are blank without it."""
    row = asdict(measurement)
    energy = row.pop("energy") or {}
    names = [field.name for field in fields(CallEnergy) if field.name not in row]
    return row | {name: energy.get(name) for name in names}
