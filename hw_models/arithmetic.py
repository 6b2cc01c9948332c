"""The arithmetic of an accelerator: units, what they execute, how fast and at which energy."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hw_models.boundary import Boundary
from hw_models.ledger import Dtype, OpKind, Phase
from hw_models.named_part import NamedPart
from hw_models.quantity import Fraction, Interval, OpsPerSecond, PicojoulesPerOp

SPEC = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

Multiplicity = Literal["repeat_add", "small_multiply", "shift_add"]
RandomProduct = Literal["multiply", "shift_add"]


class OpEnergyTable(BaseModel):
    """Energy per operation in pJ/op, by kind and number format, all at one boundary."""

    model_config = SPEC

    boundary: Boundary
    ops: dict[OpKind, dict[Dtype, PicojoulesPerOp]]


class Overhead(BaseModel):
    """Turns a table for bare units into one for a whole machine: energy × factor.

    boundary: where the product stands.
    """

    model_config = SPEC

    boundary: Boundary
    factor: Fraction


class OpEnergy(BaseModel):
    """What one account charges for operations: a table, and the overhead around it if any."""

    model_config = SPEC

    table: Annotated[OpEnergyTable, NamedPart("op_energy")]
    overhead: Overhead | None = None

    @property
    def boundary(self) -> Boundary:
        """Where the charged energy stands."""
        return self.overhead.boundary if self.overhead else self.table.boundary

    def per_op_pj(self, kind: OpKind, dtype: Dtype) -> Interval:
        """Return pJ/op = table entry × overhead factor; raises `KeyError` if there is no entry."""
        entry = self.table.ops[kind][dtype].interval
        return entry.times(self.overhead.factor.interval) if self.overhead else entry


class Unit(BaseModel):
    """A group of like functional units that share one throughput.

    executes: operation kind -> number formats. phases: the only phases it serves; all if absent.
    only_multiply_add: whether it adds only what it has just multiplied (a matrix unit), so that
        sums without products go to another unit.
    rate: op/s of the whole group, a fused multiply-add being two operations.
    energy: account name -> energy, where it differs from the default of `Arithmetic`.
    """

    model_config = SPEC

    executes: dict[OpKind, tuple[Dtype, ...]] = Field(min_length=1)
    phases: tuple[Phase, ...] | None = Field(default=None, min_length=1)
    only_multiply_add: bool = False
    rate: OpsPerSecond
    energy: dict[str, OpEnergy] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _lowered_kinds(self) -> Self:
        for kind in (OpKind.ACCUMULATE, OpKind.RANDOM_PRODUCT):
            if kind in self.executes:
                raise ValueError(
                    f"no unit executes {kind}: the policies of the arithmetic turn it into "
                    "adds, shifts or multiplies"
                )
        if self.rate.low == 0:
            raise ValueError("rate must be above 0, low end included")
        return self

    def serves(self, phase: Phase, kind: OpKind, dtype: Dtype) -> bool:
        """Return whether the unit executes this operation in this phase."""
        return (self.phases is None or phase in self.phases) and dtype in self.executes.get(
            kind, ()
        )


class Arithmetic(BaseModel):
    """Units in order of preference, and the policies for what no unit does directly.

    multiplicity: how acc += c·x is done for a row that was drawn c times.
    count_format: format of the multiplier that makes c·x, given with `small_multiply` alone. A
        count is a small integer, so a narrow multiplier serves; sums stay in the ledger's format.
    random_product: how a number is multiplied by a fresh 24-bit uniform.
    units: name -> unit; an operation goes to the first unit that serves it.
    energy: account name -> energy per operation, unless a unit has its own.
    """

    model_config = SPEC

    multiplicity: Multiplicity
    count_format: Dtype | None = None
    random_product: RandomProduct
    units: dict[str, Unit] = Field(min_length=1)
    energy: dict[str, OpEnergy]

    @model_validator(mode="after")
    def _count_format_where_needed(self) -> Self:
        if (self.multiplicity == "small_multiply") != (self.count_format is not None):
            raise ValueError(
                "count_format goes with multiplicity small_multiply and with no other, got "
                f"multiplicity {self.multiplicity} and count_format {self.count_format}"
            )
        return self

    def energy_of(self, unit: str, account: str) -> OpEnergy | None:
        """Return what `account` charges for operations on `unit`; None if nothing is given."""
        return self.units[unit].energy.get(account, self.energy.get(account))
