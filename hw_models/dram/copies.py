"""Several like memories side by side: more channels, interleaved where the channel bits are."""

from __future__ import annotations

from hw_models.dram.address_mapping import FIELDS, AddressMapping
from hw_models.dram.memory_spec import DramSpec


def side_by_side(spec: DramSpec, copies: int) -> DramSpec:
    """Return `copies` memories that work as one, with so many times the channels.

    copies: a power of two; its bits go right above the channel bits of an address (above the first
    range of column bits where a memory has one channel), and higher bits move up.
    """
    if copies == 1:
        return spec
    bits = copies.bit_length() - 1
    mapping = spec.mapping
    at = 1 + max(high for _, high in mapping.channel or mapping.column[:1] or mapping.offset)
    fields: dict[str, tuple[tuple[int, int], ...]] = {}
    for field in FIELDS:
        ranges: list[tuple[int, int]] = []
        for low, high in getattr(mapping, field):
            if high < at:
                ranges.append((low, high))
            elif low >= at:
                ranges.append((low + bits, high + bits))
            else:
                ranges += [(low, at - 1), (at + bits, high + bits)]
        fields[field] = tuple(ranges)
    fields["channel"] = (*fields["channel"], (at, at + bits - 1))
    channels = spec.organisation.channels * copies
    return spec.model_copy(update={
        "name": f"{copies} x {spec.name}",
        "organisation": spec.organisation.model_copy(update={"channels": channels}),
        "mapping": AddressMapping(**fields),
    })
