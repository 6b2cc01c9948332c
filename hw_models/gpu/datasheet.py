"""The same model without a measurement: catalogue figures, and class figures for the rest."""

from __future__ import annotations

from dataclasses import dataclass

from hw_models.accelerator import Accelerator
from hw_models.entries import Dtype, OpKind
from hw_models.gpu.calibration import GpuCalibration, Parameter
from hw_models.gpu.parameters import PARAMETERS
from hw_models.problems import Problem, SpecError, did_you_mean
from hw_models.quantity import Constant, Interval

CLASS = "judgement: class figure of NVIDIA GPUs from Ampere to Hopper, not measured on this part"


L2_ENERGY = Interval(1.4, 4.8, 10.4)
L2_SOURCE = ("Antepara et al., SC'25, Table 3: 4.71 (A100), 4.87 (GH200), 1.39 (MI300A) pJ/bit; "
             "high end: RTX A5000 (arjunds/efficient-ai, FINDINGS_A5000, 2026)")


@dataclass(frozen=True)
class Structure:
    """Multiprocessors, boost clock in Hz and board power limit in W."""

    multiprocessors: int
    boost_hz: float
    limit_w: float
    capability: tuple[int, int]


STRUCTURES: dict[str, Structure] = {
    "a100_80gb_sxm": Structure(108, 1.410e9, 400, (8, 0)),
    "h100_sxm": Structure(132, 1.980e9, 700, (9, 0)),
    "h200_sxm": Structure(132, 1.980e9, 700, (9, 0)),
    "l40s": Structure(142, 2.520e9, 350, (8, 9)),
    "rtx_3090": Structure(82, 1.695e9, 350, (8, 6)),
    "rtx_4090": Structure(128, 2.520e9, 450, (8, 9)),
    "rtx_5090": Structure(170, 2.407e9, 575, (12, 0)),
    "rtx_6000_ada": Structure(142, 2.505e9, 300, (8, 9)),
}
"""Catalogue name -> structure, from NVIDIA's product pages and architecture papers (from memory,
unverified, but for the H200, whose driver reports 132, 1980 MHz and 700 W)."""

_CLASS_FIGURES: dict[str, tuple[float, float, float]] = {
    "timer": (1e-6, 0.5e-6, 2e-6),
    "launch": (2.5e-6, 1.5e-6, 4e-6),
    "serial_launch": (1.5e-6, 0.8e-6, 3e-6),
    "dependent_launch": (0.8e-6, 0.3e-6, 1.5e-6),
    "dispatch": (1e-9, 0.3e-9, 2e-9),
    "dependent_dispatch": (1e-9, 0.3e-9, 2e-9),
    "memory_latency": (4e-7, 2.5e-7, 6e-7),
    "l2_latency": (1.8e-7, 1.2e-7, 2.8e-7),
    "tile_latency": (8e-7, 4e-7, 1.2e-6),
    "l2_tile_latency": (5e-7, 2e-7, 8e-7),
    "ramp": (1e-6, 0.3e-6, 2e-6),
    "overlap": (4.0, 2.0, 8.0),
    "issue_rate": (0.9, 0.7, 1.0),
    "issue_interval": (2.0, 1.0, 4.0),
    "step_interval": (2.2, 1.5, 4.0),
    "barrier": (100.0, 40.0, 200.0),
    "special_interval": (8.0, 8.0, 16.0),
    "tensor_interval": (8.0, 4.0, 16.0),
    "active_power": (20.0, 0.0, 40.0),
    "voltage_exponent": (2.0, 1.0, 3.0),
}
"""Parameter -> value, low, high in its unit."""


def datasheet(accelerator: Accelerator) -> GpuCalibration:
    """Return the parameters of a GPU of the catalogue without any measurement of its kernels.

    Bandwidth and efficiencies are the catalogue's, with their ranges; clock, multiprocessors and
    limit come from `STRUCTURES`. A multiprocessor takes 64 bytes per clock; L2 delivers half of
    that to all of them together; one line per clock of a multiprocessor at a seventh. All else are
    class figures. Raises `SpecError` for an accelerator that is no GPU of the table.
    """
    if accelerator.name not in STRUCTURES:
        raise SpecError(Problem(
            f"no datasheet of a GPU '{accelerator.name}'"
            f"{did_you_mean(accelerator.name, STRUCTURES)}"
        ))
    part, memory = STRUCTURES[accelerator.name], accelerator.memory
    bandwidth = memory.peak_bandwidth.interval.times(memory.streaming_efficiency.interval)
    gather, stream = memory.gather_efficiency, memory.streaming_efficiency
    ports = part.multiprocessors * part.boost_hz
    board = accelerator.static.get("board")
    buffer = accelerator.buffer
    found = {
        "clock": (_around(part.boost_hz, 0.9, 1.05), "boost clock, NVIDIA"),
        "power_limit": (_around(part.limit_w, 1.0, 1.0), "board power, NVIDIA"),
        "read_bandwidth": (bandwidth, memory.streaming_efficiency.source),
        "gather_efficiency": (_ratio(gather.interval, stream.interval), gather.source),
        "multiprocessor_rate": (_around(64 * part.boost_hz, 0.5, 2.0), CLASS),
        "program_rate": (_around(32 * part.boost_hz, 0.5, 2.0), CLASS),
        "l2_capacity": (Interval.exact(float(buffer.capacity_bytes)) if buffer else _around(
            5e7, 0.1, 2.0), buffer.source if buffer else CLASS),
        "l2_bandwidth": (_around(32 * ports, 0.6, 2.0), CLASS),
        "line_rate": (_around(ports / 7, 0.5, 1.5), CLASS),
        "idle_power": (board.power.interval, board.power.source) if board
        else (_around(0.15 * part.limit_w, 0.5, 1.5), CLASS),
        **_energies(accelerator),
        **{name: (Interval(low, value, high), CLASS)
           for name, (value, low, high) in _CLASS_FIGURES.items()},
    }
    return GpuCalibration(
        title=f"{accelerator.title}, datasheet only", basis="datasheet",
        multiprocessors=part.multiprocessors,
        parameters={name: _parameter(name, *found[name]) for name in PARAMETERS},
    )


def _energies(accelerator: Accelerator) -> dict[str, tuple[Interval, str]]:
    """Return energies of bytes, pages and operations from the board's account of the catalogue.

    The account charges a loaded bit whole, so L2's part of it is taken off main memory. A warp's
    instruction is 32 of the account's scalar operations; an exponential is what it costs there
    above one of them.
    """
    read = accelerator.memory.energy["board"].read
    pages = accelerator.memory.energy["board"].activation
    tensor = _per_op(accelerator, "tensor_cores", OpKind.MULTIPLY, Dtype.BF16)
    scalar = _per_op(accelerator, "int_alus", OpKind.COMPARE, Dtype.FP32)
    exp = _per_op(accelerator, "special_function_units", OpKind.EXP, Dtype.FP32)
    rest = 1 - L2_ENERGY.nominal / read.interval.nominal
    return {
        "memory_energy": (read.interval * rest, f"{read.source}; less L2"),
        "page_energy": (pages.interval, pages.source) if pages
        else (Interval(900.0, 2000.0, 3800.0), CLASS),
        "l2_energy": (L2_ENERGY, L2_SOURCE),
        "tensor_energy": (tensor.interval, tensor.source),
        "instruction_energy": (scalar.interval * 32, f"32 of: {scalar.source}"),
        "exp_energy": (Interval(0.0, exp.interval.nominal - scalar.interval.nominal,
                                exp.interval.high - scalar.interval.low),
                       f"{exp.source}; less its instruction"),
    }


def _per_op(accelerator: Accelerator, unit: str, kind: OpKind, dtype: Dtype) -> Constant:
    energy = accelerator.arithmetic.energy_of(unit, "board")
    assert energy is not None  # noqa: S101 - every GPU of the catalogue has a board's account
    return energy.table.ops[kind][dtype]


def _parameter(name: str, range_: Interval, origin: str) -> Parameter:
    quantity = PARAMETERS[name]
    return Parameter(value=range_.nominal, low=range_.low, high=range_.high, unit=quantity.unit,
                     meaning=quantity.meaning, origin=origin)


def _around(value: float, low: float, high: float) -> Interval:
    return Interval(value * low, value, value * high)


def _ratio(part: Interval, whole: Interval) -> Interval:
    """Both are known apart, so the ends stay with the same end of the whole."""
    found = sorted((part.low / whole.low, part.nominal / whole.nominal, part.high / whole.high))
    return Interval(found[0], part.nominal / whole.nominal, found[2])
