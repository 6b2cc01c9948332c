"""The ledger: what a method did, counted exactly, and the only thing a hardware model takes in.

A ledger maps operations (phase, kind, dtype, multiplicity) to how often they happened, and byte
streams (phase, tensor, level, direction, pattern, segment size) to how many segments moved. It says
nothing about time, energy or an accelerator: those read a ledger and never change it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from hw_models.entries import (
    INT64_MAX,
    Direction,
    Dtype,
    Level,
    OpKey,
    OpKind,
    Pattern,
    Phase,
    Segments,
    StreamKey,
    Tensor,
    check_count,
    check_size,
    is_count,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "INT64_MAX",
    "Direction",
    "Dtype",
    "Figure",
    "Ledger",
    "Level",
    "OpKey",
    "OpKind",
    "Pattern",
    "Phase",
    "Segments",
    "StreamKey",
    "Tensor",
    "total",
]

Figure = Literal["logical", "unique", "moved", "workspace"]

_OP_ORDER = attrgetter("phase", "kind", "dtype", "multiplicity")
"""The order of `OpKey` itself, without a Python call per comparison."""

_DIFFERENT = "ledgers rounded to different granularities do not add: {} and {} bytes"


@dataclass(frozen=True)
class Ledger:
    """Immutable counts of operations and byte streams.

    ops: `OpKey` -> how often, int64 range.
    streams: `StreamKey` -> `Segments`.
    granularity_bytes: the sector or burst to which *moved* bytes are rounded; 1 before
        an accelerator is chosen, so that then moved = unique.

    Ledgers add (`a + b`), scale by a whole number (`a * 3`), compare (`==`) and serialise
    (`to_dict`, `from_dict`). Zero entries are dropped, so equal work means equal ledgers.
    Raises `OverflowError` when a count or a total leaves 0..2^63-1, `TypeError` for a count that
    is no int, `ValueError` for a multiplicity, segment or granule below 1.
    Source: design of the four byte figures after the FlashInfer byte count (Q + K + V + O) and
    SANTA (arXiv 2605.01910, section 3).
    """

    ops: Mapping[OpKey, int] = field(default_factory=dict)
    streams: Mapping[StreamKey, Segments] = field(default_factory=dict)
    granularity_bytes: int = 1

    def __post_init__(self) -> None:
        check_size(self.granularity_bytes, "granularity_bytes")
        for op, count in self.ops.items():
            if not (is_count(count) and is_count(op.multiplicity) and op.multiplicity):
                check_count(count, f"count of {op.phase} {op.kind} {op.dtype}")
                check_size(op.multiplicity, f"multiplicity of {op.phase} {op.kind}")
        for key in self.streams:
            check_size(key.segment_bytes, f"segment_bytes of {key.phase} {key.tensor}")
            check_count(key.footprint_bytes, f"footprint_bytes of {key.phase} {key.tensor}")
        ops = {op: self.ops[op] for op in sorted(self.ops, key=_OP_ORDER) if self.ops[op]}
        streams = {
            key: self.streams[key] for key in sorted(self.streams) if self.streams[key].logical
        }
        object.__setattr__(self, "ops", MappingProxyType(ops))
        object.__setattr__(self, "streams", MappingProxyType(streams))
        check_count(self.count(), "total operations")
        for figure in ("logical", "unique", "moved"):
            check_count(self.bytes(figure), f"total {figure} bytes")

    def __hash__(self) -> int:
        return hash((tuple(self.ops.items()), tuple(self.streams.items()), self.granularity_bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        # mapping proxies do not pickle; worker processes rebuild the ledger from plain dicts
        return Ledger, (dict(self.ops), dict(self.streams), self.granularity_bytes)

    def __add__(self, other: Ledger) -> Ledger:
        return total((self, other))

    def __mul__(self, times: int) -> Ledger:
        check_count(times, "ledger multiplier")
        return Ledger(
            {op: count * times for op, count in self.ops.items()},
            {k: Segments(s.logical * times, s.unique * times) for k, s in self.streams.items()},
            self.granularity_bytes,
        )

    __rmul__ = __mul__

    def rounded_to(self, granularity_bytes: int) -> Ledger:
        """Return this ledger with moved bytes rounded up per segment to `granularity_bytes`.

        moved = unique segments × ⌈segment_bytes / granularity⌉ × granularity, exact for segments
        that start on a granule (every row size in use here does, for 32-byte granules).
        """
        return replace(self, granularity_bytes=granularity_bytes)

    def count(
        self,
        kind: OpKind | None = None,
        phase: Phase | None = None,
        dtype: Dtype | None = None,
    ) -> int:
        """Return the number of operations that match every given field.

        An `ACCUMULATE` of multiplicity c counts once per element, not c times.
        """
        return sum(
            n for op, n in self.ops.items()
            if (kind is None or op.kind == kind)
            and (phase is None or op.phase == phase)
            and (dtype is None or op.dtype == dtype)
        )

    def bytes(
        self,
        figure: Figure,
        *,
        tensor: Tensor | None = None,
        phase: Phase | None = None,
        level: Level | None = None,
        direction: Direction | None = None,
    ) -> int:
        """Return bytes of the streams that match every given field.

        figure: `logical` (draws × row), `unique` (union per KV head), `moved` (unique, rounded up
            per segment to `granularity_bytes`), or `workspace` (moved bytes of stash, tile masses,
            partials and indices only).
        """
        total = 0
        for key, seg in self.streams.items():
            if tensor is not None and key.tensor != tensor:
                continue
            if phase is not None and key.phase != phase:
                continue
            if level is not None and key.level != level:
                continue
            if direction is not None and key.direction != direction:
                continue
            if figure == "workspace" and not key.tensor.is_workspace:
                continue
            total += self.stream_bytes(key, figure) if seg.logical else 0
        return total

    def stream_bytes(self, key: StreamKey, figure: Figure) -> int:
        """Return one stream's bytes in the given figure (see `bytes`)."""
        seg = self.streams[key]
        if figure == "logical":
            return seg.logical * key.segment_bytes
        if figure == "unique":
            return seg.unique * key.segment_bytes
        if figure == "workspace" and not key.tensor.is_workspace:
            return 0
        if figure not in ("moved", "workspace"):
            raise ValueError(f"figure must be logical, unique, moved or workspace, got {figure!r}")
        granule = self.granularity_bytes
        return seg.unique * (-(-key.segment_bytes // granule) * granule)

    def difference(self, other: Ledger) -> dict[OpKey | StreamKey, tuple[object, object]]:
        """Return the entries in which two ledgers differ, as (mine, theirs); zeros where absent."""
        found: dict[OpKey | StreamKey, tuple[object, object]] = {}
        for op in sorted(set(self.ops) | set(other.ops)):
            mine, theirs = self.ops.get(op, 0), other.ops.get(op, 0)
            if mine != theirs:
                found[op] = (mine, theirs)
        none = Segments(0, 0)
        for key in sorted(set(self.streams) | set(other.streams)):
            a, b = self.streams.get(key, none), other.streams.get(key, none)
            if a != b:
                found[key] = (a, b)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers that `from_dict` turns back into an equal ledger."""
        return {
            "granularity_bytes": self.granularity_bytes,
            "ops": [[*(str(f) for f in (o.phase, o.kind, o.dtype)), o.multiplicity, n]
                    for o, n in self.ops.items()],
            "streams": [
                [str(k.phase), str(k.tensor), str(k.level), str(k.direction), str(k.pattern),
                 k.segment_bytes, k.footprint_bytes, s.logical, s.unique]
                for k, s in self.streams.items()
            ],
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Ledger:
        """Rebuild a ledger from `to_dict`.

        Raises `ValueError` on an unknown name or an entry that is given twice, and like `Ledger`.
        """
        ops = {OpKey(Phase(p), OpKind(k), Dtype(t), c): n for p, k, t, c, n in data["ops"]}
        streams = {
            StreamKey(Phase(p), Tensor(t), Level(v), Direction(d), Pattern(a), size, footprint):
                Segments(logical, unique)
            for p, t, v, d, a, size, footprint, logical, unique in data["streams"]
        }
        if len(ops) < len(data["ops"]) or len(streams) < len(data["streams"]):
            raise ValueError("a serialised ledger has an entry twice")
        return Ledger(ops, streams, data["granularity_bytes"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one flat record per entry, operations first (the rows of `to_frame`)."""
        for op, n in self.ops.items():
            yield {"entry": "operation", "phase": str(op.phase), "name": str(op.kind),
                   "dtype": str(op.dtype), "multiplicity": op.multiplicity, "count": n}
        for key, seg in self.streams.items():
            yield {
                "entry": "stream", "phase": str(key.phase), "name": str(key.tensor),
                "level": str(key.level), "direction": str(key.direction),
                "pattern": str(key.pattern), "segment_bytes": key.segment_bytes,
                "footprint_bytes": key.footprint_bytes, "count": seg.logical,
                **{f"{fig}_bytes": self.stream_bytes(key, fig)
                   for fig in ("logical", "unique", "moved", "workspace")},
            }

    def to_frame(self) -> pd.DataFrame:
        """Return the ledger as a tidy table, one row per operation or stream entry.

        Columns: entry, phase, name, dtype, multiplicity, level, direction, pattern,
        segment_bytes, footprint_bytes, count, logical_bytes, unique_bytes, moved_bytes,
        workspace_bytes; counts and bytes are nullable int64.
        """
        import pandas as pd

        rows = list(self.rows())
        text = {"entry", "phase", "name", "dtype", "level", "direction", "pattern"}
        columns = (
            "entry", "phase", "name", "dtype", "multiplicity", "level", "direction", "pattern",
            "segment_bytes", "footprint_bytes", "count",
            "logical_bytes", "unique_bytes", "moved_bytes", "workspace_bytes",
        )
        # column by column: a frame made from rows holds a column with gaps as float64, which
        # rounds above 2^53
        return pd.DataFrame({
            name: pd.array(
                [row.get(name) for row in rows], dtype="string" if name in text else "Int64"
            )
            for name in columns
        })


def total(ledgers: Sequence[Ledger]) -> Ledger:
    """Return the sum of ledgers in one pass; raises `ValueError` for none and like `+`."""
    if not ledgers:
        raise ValueError("the sum of no ledgers has no granularity")
    granularity = ledgers[0].granularity_bytes
    ops: dict[OpKey, int] = {}
    logical: dict[StreamKey, int] = {}
    unique: dict[StreamKey, int] = {}
    for ledger in ledgers:
        if ledger.granularity_bytes != granularity:
            raise ValueError(_DIFFERENT.format(granularity, ledger.granularity_bytes))
        for op, count in ledger.ops.items():
            ops[op] = ops.get(op, 0) + count
        for key, segments in ledger.streams.items():
            logical[key] = logical.get(key, 0) + segments.logical
            unique[key] = unique.get(key, 0) + segments.unique
    streams = {key: Segments(count, unique[key]) for key, count in logical.items()}
    return Ledger(ops, streams, granularity)
