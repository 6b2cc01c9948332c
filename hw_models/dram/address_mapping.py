"""Which address bits select the channel, rank, bank group, bank, row and column."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hw_models.dram.organisation import Organisation

Bit = Annotated[int, Field(strict=True, ge=0, le=62)]


def _ascending(bits: tuple[int, int]) -> tuple[int, int]:
    if bits[0] > bits[1]:
        raise ValueError(f"a range of bits is [lowest, highest], got {list(bits)}")
    return bits


BitRange = Annotated[tuple[Bit, Bit], AfterValidator(_ascending)]
"""Lowest and highest bit of a range, both included."""

FIELDS = ("offset", "column", "channel", "rank", "bank_group", "bank", "row")


class AddressMapping(BaseModel):
    """The bits of a byte address that make up each field.

    A field made of several ranges takes them from its least significant bit up. A field of size 1
    has none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    offset: tuple[BitRange, ...]
    column: tuple[BitRange, ...] = ()
    channel: tuple[BitRange, ...] = ()
    rank: tuple[BitRange, ...] = ()
    bank_group: tuple[BitRange, ...] = ()
    bank: tuple[BitRange, ...] = ()
    row: tuple[BitRange, ...] = ()

    def faults(self, organisation: Organisation) -> list[tuple[str, str]]:
        """Return (field, message) for each bit that overlaps, is missing or is one too many."""
        found: list[tuple[str, str]] = []
        owner: dict[int, str] = {}
        needed = organisation.address_bits()
        for field in FIELDS:
            bits = [bit for low, high in getattr(self, field) for bit in range(low, high + 1)]
            for bit in bits:
                if bit in owner:
                    found.append((field, f"bit {bit} also belongs to {owner[bit]}"))
                owner.setdefault(bit, field)
            if len(bits) != needed[field]:
                found.append((
                    field,
                    f"has {len(bits)} bits, but the organisation needs {needed[field]}",
                ))
        for bit in range(max(owner, default=0)):
            if bit not in owner:
                found.append(("", f"bit {bit} belongs to no field"))
        return found

    def pieces(self, organisation: Organisation) -> NDArray[np.int64]:
        """Return how an address falls into channel, bank of the channel and row.

        int64 [pieces, 4]: target (0 channel, 1 bank, 2 row), lowest source bit, mask, target bit.
        A bank's number is (rank·bank_groups + bank_group)·banks_per_group + bank.
        """
        bits = organisation.address_bits()
        targets = {
            "channel": (0, 0),
            "bank": (1, 0),
            "bank_group": (1, bits["bank"]),
            "rank": (1, bits["bank"] + bits["bank_group"]),
            "row": (2, 0),
        }
        found = []
        for field, (target, at) in targets.items():
            for low, high in getattr(self, field):
                found.append((target, low, (1 << (high - low + 1)) - 1, at))
                at += high - low + 1
        return np.array(found, np.int64).reshape(-1, 4)

    def addresses(self, **fields: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the byte addresses whose fields have these values; fields left out are 0.

        fields: name -> int64 [n], equally long. The inverse of taking an address apart.
        """
        found = np.zeros_like(next(iter(fields.values())))
        for field, value in fields.items():
            rest = value
            for low, high in getattr(self, field):
                width = high - low + 1
                found |= (rest & (1 << width) - 1) << low
                rest = rest >> width
        return found
