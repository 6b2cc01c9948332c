"""Vector code for intrinsics: what LLVM's vectors say and Numba's loops cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils
from numba.np import arrayobj

LANES = 16
"""Numbers in one vector: a 512-bit register of float32, two 256-bit ones, or four of 128 bits."""

_WIDE = get_host_cpu_features().get("avx512f", False)
"""Whether there are 32 registers of 512 bits; results are the same without, only slower."""

HEADS = 4 if _WIDE else 2
"""Query heads that share one load of a key or a value."""

MOST_KEYS = 4 if _WIDE else 2
"""Keys whose sums fit into registers beside those of HEADS heads."""

FUSED = ("contract",)
"""Let a product and a sum become one fused multiply-add."""

BYTE = ir.IntType(8)
SINGLE = ir.FloatType()
DOUBLE = ir.DoubleType()
_WORD = ir.IntType(32)


def pick_lanes(builder: Any, a: Any, b: Any, lanes: Sequence[int]) -> Any:
    """Emit the vector of the given lanes of a (0..LANES−1) and b (LANES..)."""
    mask = ir.Constant(ir.VectorType(_WORD, len(lanes)), list(lanes))
    return builder.shuffle_vector(a, b, mask)


def zeros(scalar: Any, lanes: int) -> Any:
    """Return the constant vector 0."""
    return ir.Constant(ir.VectorType(scalar, lanes), [0.0] * lanes)


def sum_each(builder: Any, vectors: list[Any]) -> Any:
    """Emit one vector with Σ of `vectors[i]` in lane i·LANES/len(vectors).

    Adds lanes 8, 4, 2 and 1 apart; while several vectors are left, two of them fill one, so that
    sixteen sums cost fifteen additions. len(vectors) is a power of two up to LANES.
    """
    step = LANES // 2
    while step:
        stay = [lane + (LANES if lane & step else 0) for lane in range(LANES)]
        move = [(lane ^ step) + (LANES if lane & step else 0) for lane in range(LANES)]
        half = max(1, len(vectors) // 2)
        pairs = zip(vectors[:half], vectors[-half:], strict=True)
        vectors = [
            builder.fadd(pick_lanes(builder, a, b, stay), pick_lanes(builder, a, b, move))
            for a, b in pairs
        ]
        step //= 2
    return vectors[0]


def up_to(builder: Any, first: Any, last: Any, count: int) -> list[Any]:
    """Emit first, first + 1, …, none beyond last: a tile at the edge repeats its last row."""
    steps = [builder.add(first, ir.Constant(first.type, i)) for i in range(count)]
    return [builder.select(builder.icmp_signed("<", i, last), i, last) for i in steps]


def array_row(context: Any, builder: Any, array_type: Any, array: Any, row: Any) -> Any:
    """Emit the byte pointer to one row of a 2-d array."""
    struct = arrayobj.make_array(array_type)(context, builder, array)
    stride = cgutils.unpack_tuple(builder, struct.strides)[0]
    base = builder.bitcast(struct.data, BYTE.as_pointer())
    return builder.gep(base, [builder.mul(row, stride)])


def array_columns(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """Emit the length of a 2-d array's rows."""
    struct = arrayobj.make_array(array_type)(context, builder, array)
    return cgutils.unpack_tuple(builder, struct.shape)[1]


def prefetch(builder: Any, pointer: Any) -> None:
    """Ask for the cache line at a byte pointer, which need not be valid memory, for reading once.

    A line that will not be read again stays out of the outer caches, where it would displace
    queries and sums.
    """
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, _WORD, _WORD, _WORD])
    function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
    read, once, data = (ir.Constant(_WORD, value) for value in (0, 0, 1))
    builder.call(function, [pointer, read, once, data])
