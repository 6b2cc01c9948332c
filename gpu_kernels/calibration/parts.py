"""Which rows fix which parameters, in the order in which they are fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpu_kernels.calibration.launches import launches
from gpu_kernels.calibration.rows import Row
from hw_models.gpu.power import power_above_idle_w, work_of
from hw_models.gpu.timing import GpuTiming

L2_FITS_BYTES = 32 * 2**20
"""Repeated reads of more than this miss L2 in part on a 60 MB L2 of two halves."""

FEW_PROGRAMS = 66
"""On an H200 half of the multiprocessors, which take less than the memory's bandwidth."""

SATURATING_BYTES = 8e6
"""Over twice bandwidth × latency of an H200: more bytes in flight change nothing."""


FEW_TILES = 7
"""Tiles of a program below which its launch takes longer than its steps."""


@dataclass(frozen=True)
class Part:
    """Rows that isolate some parameters.

    takes: whether a row belongs here. holds_out: whether each third row is kept from the fit;
    held: which of three. unit: of what is compared, `s` (time_us) or `W` (power above idle).
    """

    name: str
    parameters: tuple[str, ...]
    takes: Callable[[Row], bool]
    holds_out: bool = False
    held: int = 2
    unit: str = "s"


def measured(row: Row, unit: str = "s") -> float:
    """Return what a row measured: time in s, or power above idle in W."""
    if unit == "W":
        return row.number("power_counter_w") - row.number("idle_w")
    return row.number("time_us") * 1e-6


def predicted_s(row: Row, values: Mapping[str, float], multiprocessors: int) -> float:
    """Return the time of a row's call, s."""
    timing = GpuTiming(multiprocessors, values)
    if row.text("kernel") == "chase":
        latency = values["l2_latency" if row.text("l2") == "warm" else "memory_latency"]
        return values["timer"] + values["launch"] + row.number("iterations") * latency
    return timing.call_s(launches(row))


def predicted_w(row: Row, values: Mapping[str, float]) -> float:
    """Return the power above idle of a steady load, W, at the time and clock that it took."""
    clock = min(1.0, row.number("running_sm_clock_mhz") * 1e6 / values["clock"])
    work = work_of(launches(row), values)
    return power_above_idle_w(work, values, row.number("time_us") * 1e-6, clock)


def _in(*names: str) -> Callable[[Row], bool]:
    return lambda row: row.text("experiment") in names


def _empty_launch(row: Row) -> bool:
    return (row.text("experiment") == "launch" and row.text("op") == "empty"
            and row.count("launches") > 0)


def _pipelined_stream(row: Row) -> bool:
    cold = row.text("l2") == "cold" and row.text("experiment") in ("stream", "size", "layout")
    # with one stage no tile is under way while the last one is added up
    return cold and row.count("stages") > 1


def _in_flight(row: Row) -> float:
    return row.number("programs") * row.number("tile_bytes") * (row.count("stages") - 1)


def _few_in_flight(row: Row) -> bool:
    return (_pipelined_stream(row) and row.number("programs") <= FEW_PROGRAMS
            and _in_flight(row) < SATURATING_BYTES)


def _many_in_flight(row: Row) -> bool:
    return _pipelined_stream(row) and _in_flight(row) >= SATURATING_BYTES


def _between(row: Row) -> bool:
    return _pipelined_stream(row) and not _few_in_flight(row) and not _many_in_flight(row)


def _resident_in_l2(row: Row) -> bool:
    return (row.text("experiment") == "l2" and row.text("kernel") == "stream"
            and row.number("read_bytes") <= L2_FITS_BYTES)


def _pipelined_gather(row: Row) -> bool:
    return row.text("experiment") == "gather" and row.count("stages") > 1


def _multiply_adds(row: Row) -> bool:
    return row.text("experiment") == "arithmetic" and row.text("op") == "fma"


def _operation(*ops: str) -> Callable[[Row], bool]:
    return lambda row: row.text("experiment") == "arithmetic" and row.text("op") in ops


def _products(row: Row) -> bool:
    """One warp with 32 columns; 8 columns wait for shared memory, four warps multiply as one."""
    return (_operation("dot")(row) and row.count("num_warps") == 1
            and row.count("columns") == 32)


def _tiles_from_l2(row: Row) -> bool:
    """Long enough that the steps show beside what starts and ends a launch."""
    return (row.text("experiment") == "tile" and row.text("l2") == "warm"
            and _tiles_per_program(row) >= FEW_TILES)


def _tiles_per_program(row: Row) -> float:
    return row.number("loaded_bytes") / row.number("tile_bytes") / row.number("programs")


def _steady(*kernels: str) -> Callable[[Row], bool]:
    """Loads of normal numbers whose instructions are known."""
    return lambda row: (_counted_load(row) and row.text("kernel") in kernels
                        and row.text("data") == "normal" and not _settled(row)
                        and not _wide_product(row) and not _partly_in_l2(row))


def _counted_load(row: Row) -> bool:
    return row.text("experiment") == "energy" and bool(row.text("loop_instructions"))


def _settled(row: Row) -> bool:
    """Arithmetic that comes to rest, x·0.5 + 1 at 2, 2^(−x) at 0.64, switches nothing more."""
    return row.text("kernel") == "arithmetic" and row.text("op") in ("fma", "exp")


def _partly_in_l2(row: Row) -> bool:
    """Repeated rows that the L2 holds, but not each half of it: many come from the far half."""
    return (row.text("kernel") == "gather"
            and L2_FITS_BYTES < row.number("read_bytes") < row.number("l2_bytes"))


def _wide_product(row: Row) -> bool:
    """Four warps with 32 columns multiply as one: each operand serves more products than in any
    decode kernel, whose columns are the query heads of a group.
    """
    return (row.text("kernel") == "arithmetic" and row.text("op") == "dot"
            and row.count("num_warps") == 4 and row.count("columns") == 32)


FITTED: tuple[Part, ...] = (
    Part("launch", ("launch", "serial_launch", "dependent_launch", "dispatch",
                    "dependent_dispatch"), _empty_launch),
    Part("latency of memory", ("memory_latency",),
         lambda row: row.text("experiment") == "latency" and row.text("l2") == "cold"),
    Part("latency of L2", ("l2_latency",),
         lambda row: row.text("experiment") == "latency" and row.text("l2") == "warm"),
    Part("stream, few bytes in flight", ("tile_latency", "multiprocessor_rate"), _few_in_flight,
         holds_out=True),
    Part("stream, memory full", ("read_bandwidth", "ramp"), _many_in_flight, holds_out=True),
    Part("stream, between", ("overlap",), _between, holds_out=True),
    Part("l2", ("l2_bandwidth", "l2_tile_latency"), _resident_in_l2),
    Part("gather", ("gather_efficiency", "line_rate"), _pipelined_gather, holds_out=True),
    Part("multiply-adds", ("issue_rate", "issue_interval"), _multiply_adds),
    Part("exponentials", ("special_interval",), _operation("exp")),
    Part("products of matrices", ("tensor_interval",), _products),
    Part("tiles of keys in L2", ("step_interval", "barrier", "program_rate"), _tiles_from_l2,
         holds_out=True),
    Part("power", ("active_power", "memory_energy", "page_energy", "l2_energy",
                   "instruction_energy", "tensor_energy", "exp_energy", "voltage_exponent"),
         # without the first of three, every operation has a point that is fitted on
         _steady("stream", "gather", "arithmetic", "tile"), holds_out=True, held=0, unit="W"),
)

CHECKED: tuple[Part, ...] = (
    Part("launches that pass a number on", (),
         lambda row: row.text("experiment") == "launch" and row.text("op") == "relay"),
    Part("waves of streams", (),
         lambda row: row.text("experiment") == "waves" and row.text("kernel") == "stream"),
    Part("waves of multiply-adds", (),
         lambda row: row.text("experiment") == "waves" and row.text("kernel") == "arithmetic"),
    Part("streams without pipeline", (),
         lambda row: row.text("experiment") == "stream" and row.count("stages") == 1),
    Part("maxima, scans, comparisons", (), _operation("max", "scan", "compare")),
    Part("tiles of keys", (),
         lambda row: row.text("experiment") == "tile" and row.text("l2") == "cold"),
    Part("power of operations on numbers at rest", (),
         lambda row: _counted_load(row) and _settled(row), unit="W"),
    Part("power of products of many columns", (),
         lambda row: _counted_load(row) and _wide_product(row), unit="W"),
    Part("power of gathers from both halves of the L2", (),
         lambda row: _counted_load(row) and _partly_in_l2(row), unit="W"),
    Part("power of zeros", (),
         lambda row: _counted_load(row) and row.text("data") == "zeros", unit="W"),
)
"""Nothing is fitted on these; they show where the model is wrong."""
