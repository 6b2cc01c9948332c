"""The timing constraints of a memory in clock cycles, and how it is refreshed."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hw_models.quantity import Confidence

Cycles = Annotated[int, Field(strict=True, ge=1, le=1 << 22)]


class TimingSet(BaseModel):
    """Constraints in cycles of tCK, named as JEDEC names them.

    tBL: cycles that a burst holds the data bus. tRTW: read to write command in one rank; tRTRS:
    gap on the data bus between ranks. t32AW: 32 activations need at least this long, where the
    standard says so. command_buses: 2 where row and column commands have pins of their own.
    source, confidence: of the whole set; derived: parameter -> where it comes from instead.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tCK_ps: Cycles
    command_buses: Annotated[int, Field(strict=True, ge=1, le=2)] = 1
    tBL: Cycles
    tCL: Cycles
    tCWL: Cycles
    tRCD_RD: Cycles
    tRCD_WR: Cycles
    tRP: Cycles
    tRAS: Cycles
    tRC: Cycles
    tRRD_S: Cycles
    tRRD_L: Cycles
    tFAW: Cycles
    t32AW: Cycles | None = None
    tCCD_S: Cycles
    tCCD_L: Cycles
    tRTP: Cycles
    tWR: Cycles
    tWTR_S: Cycles
    tWTR_L: Cycles
    tRTW: Cycles
    tRTRS: Cycles = 1
    source: str = Field(min_length=1)
    confidence: Confidence
    derived: dict[str, str] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.tRAS > self.tRC:
            raise ValueError(
                f"tRAS ({self.tRAS}) is longer than tRC ({self.tRC}): a row cannot open again "
                f"before it closes; the smallest tRC that works is {self.tRAS}"
            )
        for short, long in (("tCCD_S", "tCCD_L"), ("tRRD_S", "tRRD_L"), ("tWTR_S", "tWTR_L")):
            least = getattr(self, short)
            if least > getattr(self, long):
                raise ValueError(
                    f"{long} ({getattr(self, long)}) is shorter than {short} ({least}): one bank "
                    f"group is no faster than two; the smallest {long} that works is {least}"
                )
        unknown = sorted(set(self.derived) - set(type(self).model_fields))
        if unknown:
            raise ValueError(f"derived names no parameter of the set: {', '.join(unknown)}")
        return self


class RefreshScope(StrEnum):
    """Which banks one refresh command takes out of service."""

    ALL_BANK = "all_bank"
    SAME_BANK = "same_bank"
    """One bank of every bank group."""
    PER_BANK = "per_bank"


class Refresh(BaseModel):
    """Every bank is refreshed once per tREFI, in one command or in one per unit of `scope`.

    tRFC: cycles for which one command takes its banks out of service.
    max_postponed: refresh commands that may wait for their banks to become idle.
    source, confidence: of all three.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: RefreshScope
    tREFI: Cycles
    tRFC: Cycles
    max_postponed: Annotated[int, Field(strict=True, ge=0, le=64)] = 0
    source: str = Field(min_length=1)
    confidence: Confidence

    def units(self, bank_groups: int, banks_per_group: int) -> int:
        """Return how many refresh commands make up one round over a rank."""
        return {
            RefreshScope.ALL_BANK: 1,
            RefreshScope.SAME_BANK: banks_per_group,
            RefreshScope.PER_BANK: bank_groups * banks_per_group,
        }[self.scope]
