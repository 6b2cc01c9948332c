"""The few physical parameters of a GPU's time model: each with unit, error and origin."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hw_models.gpu.parameters import PARAMETERS
from hw_models.problems import did_you_mean
from hw_models.strict_yaml import load, validate

STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Parameter(BaseModel):
    """A fitted or quoted number.

    low, high: range; for a fit, two standard errors either way. standard_error: in the same unit,
    absent where nothing was fitted. origin: the part of the measurements that it was fitted on, or
    where the figure is from.
    """

    model_config = STRICT

    value: float = Field(gt=0)
    low: float = Field(ge=0)
    high: float = Field(gt=0)
    standard_error: float | None = Field(default=None, ge=0)
    unit: str = Field(min_length=1)
    meaning: str = Field(min_length=1)
    origin: str = Field(min_length=1)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.value <= self.high:
            raise ValueError(f"needs low <= value <= high, got {self.low}, {self.value}, "
                             f"{self.high}")
        return self


class Residuals(BaseModel):
    """Relative errors |predicted / measured − 1| of one group of points."""

    model_config = STRICT

    n: int = Field(gt=0)
    median: float = Field(ge=0)
    p90: float = Field(ge=0)
    max: float = Field(ge=0)


class Measured(BaseModel):
    """What was measured: file, its SHA-256, GPU, driver and timer; None of it on a datasheet."""

    model_config = STRICT

    file: str
    sha256: str
    device: str
    driver: str
    timer: str
    date: str


class GpuCalibration(BaseModel):
    """A GPU as its time model sees it.

    basis: `datasheet` or `microbenchmarks`. multiprocessors: count. parameters: by name.
    fitted, held_out: errors by part of the measurements, never mixed.
    """

    model_config = STRICT

    title: str = Field(min_length=1)
    basis: Literal["datasheet", "microbenchmarks"]
    multiprocessors: int = Field(gt=0)
    measured: Measured | None = None
    parameters: dict[str, Parameter]
    fitted: dict[str, Residuals] = Field(default_factory=dict)
    held_out: dict[str, Residuals] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        for name, parameter in self.parameters.items():
            if name not in PARAMETERS:
                raise ValueError(f"no parameter '{name}'{did_you_mean(name, PARAMETERS)}")
            if parameter.unit != PARAMETERS[name].unit:
                raise ValueError(f"{name}: unit must be '{PARAMETERS[name].unit}', "
                                 f"got '{parameter.unit}'")
        if missing := [name for name in PARAMETERS if name not in self.parameters]:
            raise ValueError(f"parameters missing: {', '.join(missing)}")
        return self

    def values(self) -> dict[str, float]:
        """Return parameter name -> value, in the units of `PARAMETERS`."""
        return {name: parameter.value for name, parameter in self.parameters.items()}


def load_calibration(path: str | Path) -> GpuCalibration:
    """Read a calibration from YAML; raises `SpecError` with file, line and dotted path."""
    return validate(load(path), GpuCalibration)
