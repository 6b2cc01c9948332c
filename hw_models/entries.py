"""What a ledger counts: operations and byte streams, and the words that name them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

INT64_MAX = 2**63 - 1


class Phase(StrEnum):
    """A stage of decode attention, in the order in which the data passes through."""

    SCORE = "score"
    SOFTMAX = "softmax"
    SAMPLE = "sample"
    VALUE = "value"
    MERGE = "merge"


class OpKind(StrEnum):
    """A kind of operation; a fused multiply-add is one multiply and one add.

    `ACCUMULATE` and `RANDOM_PRODUCT` say *what* is wanted and leave the *how* to the accelerator
    (`hw_models.lowering`): adding a row that was drawn `multiplicity` times, and the product of
    a number with a fresh 24-bit uniform.
    """

    MULTIPLY = "multiply"
    ADD = "add"
    COMPARE = "compare"
    EXP = "exp"
    DIVIDE = "divide"
    SHIFT = "shift"
    CONVERT = "convert"
    RANDOM_BITS = "random_bits"
    ADDRESS = "address"
    ACCUMULATE = "accumulate"
    RANDOM_PRODUCT = "random_product"


class Dtype(StrEnum):
    """The number format an operation works in."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    INT32 = "int32"
    BIT = "bit"

    @property
    def bytes(self) -> int:
        """Storage size in bytes; raises `ValueError` for `BIT`, which has none of its own."""
        if self is Dtype.BIT:
            raise ValueError("a bit has no storage size in bytes")
        return {"fp32": 4, "bf16": 2, "fp16": 2, "int32": 4}[self.value]


class Tensor(StrEnum):
    """What a byte stream carries; the last four are workspace, the rest is input or output."""

    Q = "q"
    K = "k"
    V = "v"
    OUT = "out"
    STASH = "stash"
    TILE_MASS = "tile_mass"
    PARTIAL = "partial"
    INDEX = "index"

    @property
    def is_workspace(self) -> bool:
        """Whether the tensor exists only between two steps of one call."""
        return self in _WORKSPACE


_WORKSPACE = frozenset({Tensor.STASH, Tensor.TILE_MASS, Tensor.PARTIAL, Tensor.INDEX})


class Level(StrEnum):
    """Where a method asks for bytes: the memory that holds the cache, or scratch space."""

    MAIN = "main"
    SCRATCH = "scratch"


class Direction(StrEnum):
    """Read from, or written to, the level."""

    READ = "read"
    WRITE = "write"


class Pattern(StrEnum):
    """Whether segments follow one another in memory or are picked by an index."""

    STREAM = "stream"
    GATHER = "gather"


@dataclass(frozen=True, order=True)
class OpKey:
    """What is counted: `multiplicity` is the weight c of an `ACCUMULATE` (acc += c·x), else 1."""

    phase: Phase
    kind: OpKind
    dtype: Dtype
    multiplicity: int = 1


@dataclass(frozen=True, order=True)
class StreamKey:
    """One byte stream: equal contiguous segments of `segment_bytes` bytes each.

    footprint_bytes: size of the whole buffer that must stay resident while a workspace tensor
        is in use, whatever part of it this stream touches; 0 for inputs and outputs.
    """

    phase: Phase
    tensor: Tensor
    level: Level
    direction: Direction
    pattern: Pattern
    segment_bytes: int
    footprint_bytes: int = 0


@dataclass(frozen=True)
class Segments:
    """How many segments a stream asked for (`logical`) and how many differ (`unique`)."""

    logical: int
    unique: int

    def __post_init__(self) -> None:
        check_count(self.logical, "logical segments")
        check_count(self.unique, "unique segments")
        if self.unique > self.logical:
            raise ValueError(f"unique segments ({self.unique}) exceed logical ({self.logical})")


def is_count(value: object) -> bool:
    """Return whether a value is an int (no bool) within 0..2^63-1."""
    return type(value) is int and 0 <= value <= INT64_MAX


def check_count(value: int, what: str) -> None:
    """Raise `TypeError` unless `value` is an int, `OverflowError` unless it is in 0..2^63-1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {value!r} ({type(value).__name__})")
    if not 0 <= value <= INT64_MAX:
        raise OverflowError(f"{what} must be within 0..2^63-1, got {value}")


def check_size(value: int, what: str) -> None:
    """Raise like `check_count`, and `ValueError` below 1."""
    check_count(value, what)
    if value < 1:
        raise ValueError(f"{what} must be >= 1, got {value}")
