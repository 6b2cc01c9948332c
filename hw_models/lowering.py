"""From a ledger, which knows no hardware, to the work that one accelerator really does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hw_models.accelerator import Accelerator, Buffer
from hw_models.arithmetic import Arithmetic
from hw_models.assignment import UnitWork, assign
from hw_models.ledger import Dtype, Ledger, Level, OpKey, OpKind, Phase, Segments, StreamKey

UNIFORM_BITS = 24
"""Bits of the uniform in a `RANDOM_PRODUCT`; each is one conditional shifted addition."""


@dataclass(frozen=True)
class Lowered:
    """A ledger as one accelerator executes it.

    accelerator: its name. ledger: only operations that units execute, moved bytes rounded to the
    memory's granularity, spilled workspace moved to main memory. work: which unit does what.
    notes: one sentence for each decision that the input ledger had left open.
    """

    accelerator: str
    ledger: Ledger
    work: tuple[UnitWork, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, order=True)
class MissingOp:
    """An operation that no unit of the accelerator executes, and how often it is needed."""

    phase: Phase
    kind: OpKind
    dtype: Dtype
    count: int

    def __str__(self) -> str:
        return f"{self.count:,} {self.kind} ({self.dtype}) in phase {self.phase}"


@dataclass(frozen=True)
class Misfit:
    """The ledger does not fit the accelerator: a result, not an error."""

    accelerator: str
    missing: tuple[MissingOp, ...]

    def __str__(self) -> str:
        return (
            f"does not fit {self.accelerator}: no unit executes "
            + "; ".join(map(str, self.missing))
        )


def lower(ledger: Ledger, accelerator: Accelerator) -> Lowered | Misfit:
    """Return the ledger as the accelerator executes it, or what it cannot execute.

    acc += c·x over m elements becomes, by policy, c·m adds (`repeat_add`), m multiplies in
    `count_format` if c > 1 and m adds (`small_multiply`), or popcount(c)·m adds and as many shifts
    less those of bit 0 (`shift_add`). A product with a fresh 24-bit uniform becomes one multiply or
    24 shifts and 24 adds. A workspace stream stays in the buffer if the tensor's footprint fits
    there, otherwise it moves to main memory. The input ledger is unchanged. Raises `OverflowError`
    when a count leaves int64. Source: binary expansion of c; the policies are the accelerator's
    own.
    """
    notes: list[str] = []
    streams = _placed(ledger, accelerator, notes)
    ops = _executed(ledger, accelerator.arithmetic, notes)
    lowered = Ledger(ops, streams).rounded_to(accelerator.memory.granularity_bytes)
    work, left = assign(lowered, accelerator.arithmetic)
    if left:
        missing = tuple(MissingOp(op.phase, op.kind, op.dtype, n) for op, n in left.items())
        return Misfit(accelerator.name, missing)
    held = lowered.bytes("unique", level=Level.MAIN)
    if held > accelerator.memory.capacity_bytes:
        notes.append(
            f"main memory holds {accelerator.memory.capacity_bytes:,} bytes, "
            f"and {held:,} different bytes are asked for"
        )
    return Lowered(accelerator.name, lowered, work, tuple(notes))


def _executed(ledger: Ledger, arithmetic: Arithmetic, notes: list[str]) -> dict[OpKey, int]:
    ops: dict[OpKey, int] = {}
    for op, count in ledger.ops.items():
        for kind, dtype, times in _steps(op, arithmetic):
            key = OpKey(op.phase, kind, dtype)
            ops[key] = ops.get(key, 0) + times * count
    if ledger.count(OpKind.ACCUMULATE):
        notes.append(f"rows drawn more than once are accumulated by {arithmetic.multiplicity}")
    if ledger.count(OpKind.RANDOM_PRODUCT):
        notes.append(f"products with a random number are made by {arithmetic.random_product}")
    return ops


def _steps(op: OpKey, arithmetic: Arithmetic) -> Iterator[tuple[OpKind, Dtype, int]]:
    """Yield the executable kinds and formats behind one operation, and how many of each."""
    if op.kind is OpKind.ACCUMULATE:
        c = op.multiplicity
        if arithmetic.multiplicity == "repeat_add":
            yield OpKind.ADD, op.dtype, c
        elif arithmetic.multiplicity == "small_multiply":
            yield OpKind.MULTIPLY, arithmetic.count_format or op.dtype, int(c > 1)
            yield OpKind.ADD, op.dtype, 1
        else:
            yield OpKind.SHIFT, op.dtype, (c >> 1).bit_count()  # bit 0 is added as it is
            yield OpKind.ADD, op.dtype, c.bit_count()
    elif op.kind is OpKind.RANDOM_PRODUCT:
        if arithmetic.random_product == "multiply":
            yield OpKind.MULTIPLY, op.dtype, 1
        else:
            yield OpKind.SHIFT, op.dtype, UNIFORM_BITS
            yield OpKind.ADD, op.dtype, UNIFORM_BITS
    else:
        yield op.kind, op.dtype, 1


def _placed(
    ledger: Ledger, accelerator: Accelerator, notes: list[str]
) -> dict[StreamKey, Segments]:
    """Return the streams, workspace that does not fit the buffer moved to main memory."""
    streams: dict[StreamKey, Segments] = {}
    spilled: dict[str, int] = {}
    for key, segments in ledger.streams.items():
        placed = key
        if key.level is Level.SCRATCH and not _fits(key, accelerator.buffer):
            placed = replace(key, level=Level.MAIN)
            spilled[key.tensor] = max(spilled.get(key.tensor, 0), _resident_bytes(key))
        have = streams.get(placed, Segments(0, 0))
        streams[placed] = Segments(
            have.logical + segments.logical, have.unique + segments.unique
        )
    room = (f"the buffer holds {accelerator.buffer.capacity_bytes:,} bytes"
            if accelerator.buffer else "there is no buffer")
    notes.extend(
        f"{tensor} ({size:,} bytes) goes to main memory: {room}"
        for tensor, size in sorted(spilled.items())
    )
    return streams


def _fits(key: StreamKey, buffer: Buffer | None) -> bool:
    return buffer is not None and _resident_bytes(key) <= buffer.capacity_bytes


def _resident_bytes(key: StreamKey) -> int:
    return max(key.footprint_bytes, key.segment_bytes)
