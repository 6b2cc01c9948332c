"""Joules of a run: what each command and each second of standby costs at the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

from hw_models.boundary import Boundary
from hw_models.dram.statistics import ChannelStatistics
from hw_models.quantity import (
    Constant,
    Interval,
    PicojoulesPerActivation,
    PicojoulesPerBit,
    Watts,
)

PICO = 1e-12


def _per_refresh(constant: Constant) -> Constant:
    if constant.unit != "pJ/refresh":
        raise ValueError(f"unit must be 'pJ/refresh', got '{constant.unit}'")
    return constant


class DramEnergy(BaseModel):
    """Energy constants of a memory at the boundary `dram_device`.

    activation: one row opened and closed again, above standby. read, write: array and path to the
    pins, above standby; io: the pins. precharged, active: standby of one rank in one channel with
    all banks closed, and with at least one open. refresh: one refresh command, above standby.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    activation: PicojoulesPerActivation
    read: PicojoulesPerBit
    write: PicojoulesPerBit
    io: PicojoulesPerBit
    precharged: Watts
    active: Watts
    refresh: Annotated[Constant, AfterValidator(_per_refresh)]

    @property
    def boundary(self) -> Boundary:
        """Where the meter of all these constants stands."""
        return Boundary.DRAM_DEVICE


@dataclass(frozen=True)
class EnergyReport:
    """Joules of a run, each with the range that its constants imply."""

    activate_j: Interval
    read_j: Interval
    write_j: Interval
    io_j: Interval
    background_j: Interval
    refresh_j: Interval

    @property
    def total_j(self) -> Interval:
        """The sum of all terms, end by end."""
        return (
            self.activate_j + self.read_j + self.write_j + self.io_j + self.background_j
            + self.refresh_j
        )


def energy_of(
    counts: ChannelStatistics, constants: DramEnergy, tCK_ps: int, ranks: int
) -> EnergyReport:
    """Return the energy of what `counts` counts, all its channels together.

    E = N_act·e_act + bits·(e_read or e_write) + bits·e_io + N_ref·e_ref
        + T_active·P_active + (T·ranks − T_active)·P_precharged.
    """
    second_per_cycle = tCK_ps * PICO
    active_s = float(counts.active_cycles.sum()) * second_per_cycle
    all_s = float(counts.cycles) * len(counts.reads) * ranks * second_per_cycle
    read_bits = 8 * int(counts.read_bytes.sum())
    write_bits = 8 * int(counts.write_bytes.sum())
    return EnergyReport(
        activate_j=constants.activation.interval * (int(counts.activations.sum()) * PICO),
        read_j=constants.read.interval * (read_bits * PICO),
        write_j=constants.write.interval * (write_bits * PICO),
        io_j=constants.io.interval * ((read_bits + write_bits) * PICO),
        background_j=constants.active.interval * active_s
        + constants.precharged.interval * (all_s - active_s),
        refresh_j=constants.refresh.interval * (int(counts.refreshes.sum()) * PICO),
    )
