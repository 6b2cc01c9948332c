"""Where the rows of the KV cache lie in main memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hw_models.dram import DramSpec

Integers = NDArray[np.int64]


class KvLayout(StrEnum):
    """How the rows of K, and those of V, follow one another."""

    NHD = "nhd"
    """[B, n, KVH, d]: the heads of a token together."""
    HND = "hnd"
    """[B, KVH, n, d]: the tokens of a head together."""
    TILE_BLOCKED = "tile_blocked"
    """[B, T, KVH, tile, d]: the tokens of a head together, tile by tile, as in a paged cache."""
    ROW_ALIGNED = "row_aligned"
    """[B, KVH, n, d] dealt out token by token over channels and bank groups, all bursts of a token
    in one row of one bank."""


@dataclass(frozen=True)
class CacheShape:
    """Sizes of a cache: B sequences of n rows, KVH heads, `row_bytes` per row of a head; tile:
    rows per tile.
    """

    batch: int
    rows: int
    kv_heads: int
    row_bytes: int
    tile: int

    @property
    def tiles(self) -> int:
        """T = ⌈n / tile⌉."""
        return -(-self.rows // self.tile)

    @property
    def bytes(self) -> int:
        """Room for K, or for V; whole tiles."""
        return self.batch * self.tiles * self.tile * self.kv_heads * self.row_bytes


class CacheMap:
    """Addresses of K, V, queries and outputs in one memory.

    K starts at 0, V at the next whole sweep over all banks, then queries and outputs. Raises
    `ValueError` if the memory is too small, or for `row_aligned` if a row of K does not fit a row
    of the memory a whole number of times.
    """

    def __init__(
        self, layout: KvLayout, shape: CacheShape, memory: DramSpec, vector_bytes: int
    ) -> None:
        self._layout, self._shape, self._memory = layout, shape, memory
        self._vector_bytes = vector_bytes
        organisation = memory.organisation
        sweep = organisation.row_bytes * organisation.banks * organisation.ranks
        sweep *= organisation.channels
        self._v = -(-shape.bytes // sweep) * sweep
        self._vectors = 2 * self._v
        needed = self._vectors + 2 * shape.batch * shape.kv_heads * vector_bytes
        if needed > organisation.capacity_bytes:
            raise ValueError(f"the cache takes {needed:,} bytes, and the memory has "
                             f"{organisation.capacity_bytes:,}")
        if layout is KvLayout.ROW_ALIGNED and (
            shape.row_bytes > organisation.row_bytes
            or organisation.row_bytes % shape.row_bytes
            or shape.row_bytes % organisation.burst_bytes
        ):
            raise ValueError(
                f"a row of {shape.row_bytes} bytes does not fit a memory row of "
                f"{organisation.row_bytes} a whole number of times in bursts of "
                f"{organisation.burst_bytes}; the other layouts take any size"
            )

    def keys(self, batch: int, head: int, rows: Integers) -> tuple[Integers, int]:
        """Return (first byte of each segment, bytes of every segment) of rows of K."""
        return self._rows(0, batch, head, rows)

    def values(self, batch: int, head: int, rows: Integers) -> tuple[Integers, int]:
        """Return (first byte of each segment, bytes of every segment) of rows of V."""
        return self._rows(self._v, batch, head, rows)

    def query(self, batch: int, head: int) -> Integers:
        """Return the first byte of the queries of one KV head."""
        return self._vector(batch, head)

    def output(self, batch: int, head: int) -> Integers:
        """Return the first byte of the outputs of one KV head."""
        return self._vector(batch + self._shape.batch, head)

    def _vector(self, batch: int, head: int) -> Integers:
        place = batch * self._shape.kv_heads + head
        return np.array([self._vectors + place * self._vector_bytes])

    def _rows(
        self, base: int, batch: int, head: int, rows: Integers
    ) -> tuple[Integers, int]:
        shape = self._shape
        if self._layout is KvLayout.NHD:
            place = (batch * shape.rows + rows) * shape.kv_heads + head
        elif self._layout is KvLayout.TILE_BLOCKED:
            tile, within = np.divmod(rows, shape.tile)
            block = (batch * shape.tiles + tile) * shape.kv_heads + head
            place = block * shape.tile + within
        else:
            place = (batch * shape.kv_heads + head) * shape.rows + rows
        if self._layout is not KvLayout.ROW_ALIGNED:
            return base + place * shape.row_bytes, shape.row_bytes
        return self._dealt_out(base // shape.row_bytes + place), (
            self._memory.organisation.burst_bytes
        )

    def _dealt_out(self, place: Integers) -> Integers:
        """Return the bursts of tokens dealt out over channels, bank groups, columns, banks."""
        organisation = self._memory.organisation
        bursts = self._shape.row_bytes // organisation.burst_bytes
        fields = {}
        for field, size in (
            ("channel", organisation.channels), ("bank_group", organisation.bank_groups),
            ("slot", organisation.columns // bursts), ("bank", organisation.banks_per_group),
            ("rank", organisation.ranks),
        ):
            place, fields[field] = np.divmod(place, size)
        fields["row"] = place
        within = np.arange(bursts)
        column = fields.pop("slot")[:, None] * bursts + within
        spread = {name: np.repeat(value, bursts) for name, value in fields.items()}
        return self._memory.mapping.addresses(**spread, column=column.ravel())
