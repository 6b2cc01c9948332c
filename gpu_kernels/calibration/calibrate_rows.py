"""From measured rows to a calibration: single readings first, then the fits in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpu_kernels.calibration.fit import Model, absolute_errors, fit, summary
from gpu_kernels.calibration.parts import (
    CHECKED,
    FITTED,
    Part,
    measured,
    predicted_s,
    predicted_w,
)
from gpu_kernels.calibration.rows import Row
from hw_models.problems import Problem, SpecError

START = {
    "launch": 2e-6, "serial_launch": 1.5e-6, "dependent_launch": 5e-7, "dispatch": 1e-9,
    "dependent_dispatch": 1e-9, "memory_latency": 4e-7, "l2_latency": 2e-7,
    "read_bandwidth": 2e12, "tile_latency": 6e-7, "multiprocessor_rate": 1e11, "ramp": 1e-6,
    "overlap": 4.0, "l2_bandwidth": 8e12, "l2_tile_latency": 3e-7, "gather_efficiency": 0.9,
    "line_rate": 4e10, "issue_rate": 0.9, "issue_interval": 2.0, "step_interval": 2.0,
    "barrier": 100.0, "program_rate": 1e11, "special_interval": 8.0, "tensor_interval": 8.0,
    "active_power": 20.0, "memory_energy": 10.0, "page_energy": 2000.0, "l2_energy": 5.0,
    "instruction_energy": 250.0, "tensor_energy": 1.0, "exp_energy": 5.0, "voltage_exponent": 2.0,
}
"""Where the search starts: class figures of a datacentre GPU, in the units of the parameters."""

ROUNDS = 12
"""The parts touch each other a little; after so many rounds no printed digit moves."""

TICK_S = 32e-9
"""The event timer's step, seen in the measurements; a lone reading is no better known."""


@dataclass
class Result:
    """Values, standard errors and the rows behind each; errors by part, fitted or held out."""

    multiprocessors: int
    values: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float | None] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    fitted: dict[str, dict[str, float]] = field(default_factory=dict)
    held_out: dict[str, dict[str, float]] = field(default_factory=dict)


def calibrate_rows(rows: Sequence[Row]) -> Result:
    """Fit all parameters; raises `SpecError` where a part's rows are missing."""
    result = Result(_multiprocessors(rows))
    _readings(rows, result)
    for part in FITTED * ROUNDS:
        used, _ = split(part, rows)
        if len(used) < len(part.parameters):
            raise SpecError(Problem(
                f"part {part.name} has {len(used)} points, too few for its parameters"
                f" ({', '.join(part.parameters)})", rows[0].file))
        model, truth = _model(part, result.multiprocessors), _truth(part)
        found = fit(used, model, truth, part.parameters, {**START, **result.values})
        result.values |= found.values
        result.errors |= found.errors
        result.origins |= {name: f"fitted on part {part.name}, {len(used)} points"
                           for name in part.parameters}
    for part in FITTED:
        used, held = split(part, rows)
        _summarise(result, part, used, result.fitted)
        _summarise(result, part, held, result.held_out)
    for part in CHECKED:
        _summarise(result, part, [row for row in rows if part.takes(row)], result.held_out)
    return result


def split(part: Part, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return the part's rows to fit on and those held out: each third one, or none."""
    taken = [row for row in rows if part.takes(row)]
    if not part.holds_out:
        return taken, []
    return [row for index, row in enumerate(taken) if index % 3 != part.held], taken[part.held::3]


def _summarise(
    result: Result, part: Part, rows: Sequence[Row], to: dict[str, dict[str, float]]
) -> None:
    if rows:
        model = _model(part, result.multiprocessors)
        to[part.name] = summary(absolute_errors(rows, model, _truth(part),
                                                  {**START, **result.values}))


def _model(part: Part, multiprocessors: int) -> Model:
    if part.unit == "W":
        return predicted_w
    return lambda row, values: predicted_s(row, values, multiprocessors)


def _truth(part: Part) -> Callable[[Row], float]:
    return lambda row: measured(row, part.unit)


def _multiprocessors(rows: Sequence[Row]) -> int:
    """The arithmetic points start at one program per multiprocessor."""
    return int(min(row.number("programs")
                   for row in _all(rows, "arithmetic", lambda row: True)))


def _readings(rows: Sequence[Row], result: Result) -> None:
    nothing = _all(rows, "launch", lambda row: row.count("launches", 1) == 0)[0]
    result.values["timer"] = measured(nothing)
    result.errors["timer"] = _reading_error(nothing)
    clock = _all(rows, "clock", lambda row: True)[0]
    time_s = measured(clock) - START["launch"] - result.values["timer"]
    result.values["clock"] = clock.number("iterations") / time_s
    # the launch before it is not known better than to a microsecond
    result.errors["clock"] = result.values["clock"] * 1e-6 / time_s
    idle = _all(rows, "energy", lambda row: row.text("kernel") == "idle")
    before = [row.number("power_counter_w") for row in idle if row.text("op") == "before"]
    readings = [row.number("power_counter_w") for row in idle]
    result.values["idle_power"] = sum(before) / len(before)
    result.errors["idle_power"] = (max(readings) - min(readings)) / 2 or None
    result.values["power_limit"] = idle[0].number("power_limit_w")
    result.errors["power_limit"] = None
    result.values["l2_capacity"] = idle[0].number("l2_bytes")
    result.errors["l2_capacity"] = None
    result.origins |= {
        "timer": "one reading without a launch", "clock": "one reading: cycles counted over time",
        "idle_power": "mean of the readings before the loads; its error is half of what all"
                      f" {len(readings)} readings, those after them too, differ by",
        "power_limit": "as the driver reports it", "l2_capacity": "as the driver reports it",
    }


def _reading_error(row: Row) -> float:
    """p20 to p80 are 1.68 standard deviations apart; the timer's step is uniform."""
    spread = (row.number("time_us_p80") - row.number("time_us_p20")) * 1e-6 / 1.683
    return max(spread / math.sqrt(row.number("repeats")), TICK_S / math.sqrt(12))


def _all(rows: Sequence[Row], experiment: str, takes: Callable[[Row], bool]) -> list[Row]:
    found = [row for row in rows if row.text("experiment") == experiment and takes(row)]
    if not found:
        raise SpecError(Problem(f"has no points of {experiment} that a calibration needs",
                                rows[0].file if rows else ""))
    return found
