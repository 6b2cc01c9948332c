"""Stored keys and values as the jitted loops see them: bf16, fp16 or fp32, any strides, read-only
or not, all through one compiled form per storage format.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from santa_sim.storage import as_stored


class StoredView(NamedTuple):
    """Where rows [n, KVH, d] lie in memory; it does not keep that memory alive.

    Numba compiles per type, and an array's type says whether it is contiguous and writable; a view
    made of numbers has one type per storage format.

    like: zero of the stored type: uint16 for bf16, int16 for fp16 (Numba has no float16 on a CPU),
    float32. address: of element [0, 0, 0]; row_bytes, head_bytes: strides of n and KVH; rows: n;
    heads: KVH; item_bytes: size of an element.
    """

    like: Any
    address: int
    row_bytes: int
    head_bytes: int
    rows: int
    heads: int
    item_bytes: int


_CARRIER = {
    np.dtype(np.uint16): np.uint16(0),
    np.dtype(np.float16): np.int16(0),
    np.dtype(np.float32): np.float32(0),
}


def kernel_view(array: NDArray[Any]) -> StoredView:
    """Return stored rows [n, KVH, d], or [n, d] of a single KV head, as the jitted loops take them.

    array: bf16 (uint16 or ml_dtypes.bfloat16), float16 or float32, any stride of n and KVH; the
    caller keeps it alive while the view is in use.
    Raises `ValueError` for another number of dimensions, or where the numbers of one row do not lie
    side by side.
    """
    stored = as_stored(array)
    if stored.ndim == 2:
        stored = stored[:, None]
    if stored.ndim != 3:
        raise ValueError(f"stored rows must be [n, d] or [n, KVH, d], got shape {stored.shape}")
    if stored.size and stored.shape[2] > 1 and stored.strides[2] != stored.itemsize:
        raise ValueError(
            f"the last axis must be contiguous: its stride is {stored.strides[2]} bytes, "
            f"not {stored.itemsize}; pass np.ascontiguousarray(...)"
        )
    return StoredView(
        _CARRIER[stored.dtype], stored.__array_interface__["data"][0],
        stored.strides[0], stored.strides[1], stored.shape[0], stored.shape[1], stored.itemsize,
    )


def row_pointer(builder: Any, view_type: Any, view: Any, row: Any, head: Any) -> Any:
    """Emit the byte pointer to element 0 of one row of one KV head (for intrinsics)."""
    part = dict(zip(view_type.fields, cgutils.unpack_tuple(builder, view), strict=True))
    offset = builder.add(
        builder.mul(row, part["row_bytes"]), builder.mul(head, part["head_bytes"])
    )
    base = builder.inttoptr(part["address"], ir.IntType(8).as_pointer())
    return builder.gep(base, [offset])


def load_stored(builder: Any, element: Any, pointer: Any, lanes: int = 1) -> Any:
    """Emit the load of `lanes` neighbouring elements as float32, exactly (for intrinsics).

    element: the Numba type of `StoredView.like`; pointer: byte pointer, any alignment.
    """

    def typed(scalar: Any) -> Any:
        return scalar if lanes == 1 else ir.VectorType(scalar, lanes)

    def load(scalar: Any) -> Any:
        return builder.load(builder.bitcast(pointer, typed(scalar).as_pointer()), align=1)

    if element == types.float32:
        return load(ir.FloatType())
    if element == types.int16:
        return builder.fpext(load(ir.HalfType()), typed(ir.FloatType()))
    word = typed(ir.IntType(32))
    sixteen = ir.Constant(word, 16 if lanes == 1 else [16] * lanes)
    bits = builder.shl(builder.zext(load(ir.IntType(16)), word), sixteen)
    return builder.bitcast(bits, typed(ir.FloatType()))


@intrinsic
def stored_at(typing_context: Any, view: Any, row: Any, head: Any, column: Any) -> Any:
    """Return element [row, head, column] of a `StoredView` as float32."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view_type = signature.args[0]
        view, row, head, column = args
        start = row_pointer(builder, view_type, view, row, head)
        size = ir.Constant(column.type, view_type.types[0].bitwidth // 8)
        pointer = builder.gep(start, [builder.mul(column, size)])
        return load_stored(builder, view_type.types[0], pointer)

    return types.float32(view, types.intp, types.intp, types.intp), codegen
