"""How a memory is divided: channels, ranks, bank groups, banks, rows and bursts."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MAX_BANKS = 64
"""Banks per channel, all ranks together."""


def _power_of_two(value: int) -> int:
    if value & (value - 1):
        above = 1 << value.bit_length()
        raise ValueError(
            f"must be a power of two, since address bits select it; got {value}, "
            f"nearest: {above // 2} or {above}"
        )
    return value


PowerOfTwo = Annotated[int, Field(strict=True, ge=1, le=1 << 30), AfterValidator(_power_of_two)]


class Organisation(BaseModel):
    """What can be addressed in a memory.

    channels: independent data buses (pseudo-channels where the standard has them).
    ranks: per channel; bank_groups: per rank; banks_per_group; rows: per bank.
    row_bytes: what one activation opens in a channel. burst_bytes: what one column command moves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    channels: PowerOfTwo
    ranks: PowerOfTwo = 1
    bank_groups: PowerOfTwo
    banks_per_group: PowerOfTwo
    rows: PowerOfTwo
    row_bytes: PowerOfTwo
    burst_bytes: PowerOfTwo

    @property
    def banks(self) -> int:
        """Banks per rank."""
        return self.bank_groups * self.banks_per_group

    @property
    def columns(self) -> int:
        """Bursts per row."""
        return self.row_bytes // self.burst_bytes

    @property
    def capacity_bytes(self) -> int:
        """Size of the whole memory."""
        return self.channels * self.ranks * self.banks * self.rows * self.row_bytes

    def address_bits(self) -> dict[str, int]:
        """Return how many address bits each field of a mapping needs; `offset` is in a burst."""
        sizes = {
            "offset": self.burst_bytes,
            "column": self.columns,
            "channel": self.channels,
            "rank": self.ranks,
            "bank_group": self.bank_groups,
            "bank": self.banks_per_group,
            "row": self.rows,
        }
        return {field: size.bit_length() - 1 for field, size in sizes.items()}
