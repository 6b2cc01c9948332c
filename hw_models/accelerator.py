"""The accelerator: the parts that its YAML names and what each of them must say.

Every number is a `Constant` with range, unit and source; whole numbers that describe the
structure share one `source` per block. `hw_models.catalogue` reads the files.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from hw_models.arithmetic import SPEC, Arithmetic
from hw_models.boundary import Boundary
from hw_models.named_part import NamedPart
from hw_models.pipeline_part import DramBehind, Pipeline
from hw_models.quantity import (
    BytesPerSecond,
    Constant,
    Fraction,
    PicojoulesPerActivation,
    PicojoulesPerBit,
    Watts,
)


def _at_most_one(constant: Constant) -> Constant:
    if constant.high > 1:
        raise ValueError(f"an efficiency is at most 1, got high {constant.high}")
    if constant.low == 0:
        raise ValueError("an efficiency is above 0, got low 0")
    return constant


Efficiency = Annotated[Fraction, AfterValidator(_at_most_one)]


class MemoryEnergy(BaseModel):
    """Energy of main-memory traffic, as one account sees it.

    read, write: pJ/bit of moved bytes in long streams (row activation of a full row included).
    activation: pJ per row activation at the same boundary. A gathered segment of b bytes from
        rows of R bytes pays activation × (⌈b/R⌉ − b/R) on top of the streaming figure, which holds
        activation × b/R already. Absent where the memory has no rows.
    """

    model_config = SPEC

    boundary: Boundary
    read: PicojoulesPerBit
    write: PicojoulesPerBit
    activation: PicojoulesPerActivation | None = None


class Memory(BaseModel):
    """Main memory, which holds the KV cache.

    capacity_bytes, granularity_bytes (sector or burst), row_bytes: structure, from `source`.
    peak_bandwidth: B/s; streaming_efficiency, gather_efficiency: achieved fraction of it.
    dram: the simulated memory behind it, for the event level; only there do banks and rows count.
    energy: account name -> what that account charges.
    """

    model_config = SPEC

    type: str = Field(min_length=1)
    source: str = Field(min_length=1)
    capacity_bytes: int = Field(gt=0, strict=True)
    granularity_bytes: int = Field(gt=0, strict=True)
    row_bytes: int | None = Field(default=None, gt=0, strict=True)
    peak_bandwidth: BytesPerSecond
    streaming_efficiency: Efficiency
    gather_efficiency: Efficiency
    dram: DramBehind | None = None
    energy: dict[str, Annotated[MemoryEnergy, NamedPart("memory_energy")]]

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.peak_bandwidth.low == 0:
            raise ValueError("peak_bandwidth must be above 0, low end included")
        if self.row_bytes is None:
            for account, energy in self.energy.items():
                if energy.activation is not None:
                    raise ValueError(
                        f"energy.{account}.activation needs row_bytes, which is missing"
                    )
        return self


class BufferEnergy(BaseModel):
    """Energy of on-chip buffer traffic in pJ/bit, as one account sees it."""

    model_config = SPEC

    boundary: Boundary
    read: PicojoulesPerBit
    write: PicojoulesPerBit


class Buffer(BaseModel):
    """On-chip SRAM that keeps workspace, and may stage what main memory delivers.

    stages_main_reads: whether each byte read from main memory is written to and read from the
        buffer once, as an energy part of its own. False where the memory figure of an account
        already includes the way through caches.
    """

    model_config = SPEC

    type: str = Field(min_length=1)
    source: str = Field(min_length=1)
    capacity_bytes: int = Field(gt=0, strict=True)
    stages_main_reads: bool
    energy: dict[str, BufferEnergy]


class StaticPower(BaseModel):
    """Power drawn for as long as the work takes; energy = power × time."""

    model_config = SPEC

    boundary: Boundary
    power: Watts


class Account(BaseModel):
    """One way of adding energy up.

    composes: the boundaries that may stand in one sum.
    rule: one sentence that says why these add up without a gap or a double count.
    """

    model_config = SPEC

    composes: tuple[Boundary, ...] = Field(min_length=1)
    rule: str = Field(min_length=1)


class Accelerator(BaseModel):
    """A machine that a ledger can be costed on.

    memory, buffer, arithmetic: its parts. static: account name -> power drawn all the time.
    accounts: the sums on offer, each with the boundaries that it composes.
    pipeline: how its units form a pipeline, for the event level. Then each unit serves one phase,
    and the memory names its `dram`.
    """

    model_config = SPEC

    name: str = Field(min_length=1)
    title: str = Field(min_length=1)
    description: str = Field(min_length=1)
    node_nm: float = Field(gt=0, strict=True)
    memory: Annotated[Memory, NamedPart("memory")]
    buffer: Annotated[Buffer, NamedPart("buffer")] | None = None
    arithmetic: Annotated[Arithmetic, NamedPart("arithmetic")]
    pipeline: Annotated[Pipeline, NamedPart("pipeline")] | None = None
    static: dict[str, StaticPower]
    accounts: dict[str, Account] = Field(min_length=1)
