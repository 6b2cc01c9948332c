"""The same model without a measurement: catalogue figures, and class figures for the rest."""

from __future__ import annotations

from dataclasses import dataclass

from hw_models.accelerator import Accelerator
from hw_models.gpu.calibration import GpuCalibration, Parameter
from hw_models.gpu.parameters import PARAMETERS
from hw_models.problems import Problem, SpecError, did_you_mean
from hw_models.quantity import Interval

CLASS = "judgement: class figure of NVIDIA GPUs from Ampere to Hopper, not measured on this part"


@dataclass(frozen=True)
class Structure:
    """Multiprocessors, boost clock in Hz and board power limit in W."""

    multiprocessors: int
    boost_hz: float
    limit_w: float


STRUCTURES: dict[str, Structure] = {
    "a100_80gb_sxm": Structure(108, 1.410e9, 400),
    "h100_sxm": Structure(132, 1.980e9, 700),
    "h200_sxm": Structure(132, 1.980e9, 700),
    "l40s": Structure(142, 2.520e9, 350),
    "rtx_3090": Structure(82, 1.695e9, 350),
    "rtx_4090": Structure(128, 2.520e9, 450),
    "rtx_5090": Structure(170, 2.407e9, 575),
    "rtx_6000_ada": Structure(142, 2.505e9, 300),
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
    "active_power": (20.0, 0.0, 40.0),
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
    energy = memory.energy.get("board")
    found = {
        "clock": (_around(part.boost_hz, 0.9, 1.05), "boost clock, NVIDIA"),
        "power_limit": (_around(part.limit_w, 1.0, 1.0), "board power, NVIDIA"),
        "read_bandwidth": (bandwidth, memory.streaming_efficiency.source),
        "gather_efficiency": (_ratio(gather.interval, stream.interval), gather.source),
        "multiprocessor_rate": (_around(64 * part.boost_hz, 0.5, 2.0), CLASS),
        "l2_bandwidth": (_around(32 * ports, 0.6, 2.0), CLASS),
        "line_rate": (_around(ports / 7, 0.5, 1.5), CLASS),
        "idle_power": (board.power.interval, board.power.source) if board
        else (_around(0.15 * part.limit_w, 0.5, 1.5), CLASS),
        "memory_energy": (energy.read.interval, energy.read.source) if energy
        else (Interval(5.0, 12.0, 25.0), CLASS),
        "l2_energy": (Interval(2.0, 5.0, 10.0), CLASS),
        **{name: (Interval(low, value, high), CLASS)
           for name, (value, low, high) in _CLASS_FIGURES.items()},
    }
    return GpuCalibration(
        title=f"{accelerator.title}, datasheet only", basis="datasheet",
        multiprocessors=part.multiprocessors,
        parameters={name: _parameter(name, *found[name]) for name in PARAMETERS},
    )


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
