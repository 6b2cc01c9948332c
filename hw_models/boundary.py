"""Energy boundaries: where the meter that gave a number was placed."""

from __future__ import annotations

from enum import StrEnum

from hw_models.problems import SpecError


class Boundary(StrEnum):
    """What an energy figure includes.

    The same read costs 4 pJ/bit at the DRAM device and 18 pJ/bit at the board. Both are right, and
    their sum or their mixture is not.
    """

    FUNCTIONAL_UNIT = "functional_unit"
    """The adder or multiplier alone: no operand fetch, no control."""
    ON_CHIP_SRAM = "on_chip_sram"
    """The memory macro alone: no wires to it."""
    DRAM_DEVICE = "dram_device"
    """Array, on-die movement and I/O of the memory device."""
    BOARD_DYNAMIC = "board_dynamic"
    """Whole board above idle: controller, caches, network, control and regulator losses."""
    BOARD_STATIC = "board_static"
    """What the board draws when it does nothing."""
    BOARD_TOTAL = "board_total"
    """Whole board, idle included."""


class MixedBoundariesError(SpecError):
    """A sum holds a term whose boundary its account does not compose."""
