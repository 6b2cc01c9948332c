"""Reading stored numbers inside Numba: one bf16, fp16 or fp32 element as float32, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

from santa_sim.storage import as_stored


def kernel_view(array: NDArray[Any]) -> NDArray[Any]:
    """Return a stored [n, d] array in the form the jitted loops read; a view, never a copy.

    array: bf16 (uint16 or ml_dtypes.bfloat16), float16 or float32, any row stride.
    Returns uint16 for bf16, int16 for fp16 (Numba has no float16 on a CPU, and the element type is
    what tells `stored_at` how to decode), float32 as it is.
    Raises `ValueError` where the numbers of one row do not lie side by side.
    """
    stored = as_stored(array)
    if stored.ndim != 2:
        raise ValueError(f"stored rows must be a 2-d array [n, d], got shape {stored.shape}")
    if stored.shape[1] > 1 and stored.strides[1] != stored.itemsize:
        raise ValueError(
            f"the last axis must be contiguous: its stride is {stored.strides[1]} bytes, "
            f"not {stored.itemsize}; pass np.ascontiguousarray(...)"
        )
    return stored.view(np.int16) if stored.dtype == np.float16 else stored


def _element_pointer(
    context: Any, builder: Any, array_type: Any, array: Any, row: Any, column: Any
) -> Any:
    """Return a byte pointer to [row, column]; the column stride is the element size.

    Numba multiplies by a column stride known only at run time, and LLVM then cannot vectorise.
    """
    struct = arrayobj.make_array(array_type)(context, builder, array)
    row_stride = cgutils.unpack_tuple(builder, struct.strides)[0]
    size = ir.Constant(row.type, array_type.dtype.bitwidth // 8)
    offset = builder.add(builder.mul(row, row_stride), builder.mul(column, size))
    return builder.gep(builder.bitcast(struct.data, ir.IntType(8).as_pointer()), [offset])


@intrinsic  # type: ignore[misc]
def stored_at(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Return array[row, column] as float32: uint16 is bf16, int16 is fp16, float32 is itself."""
    if array.dtype not in (types.uint16, types.int16, types.float32):
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element_pointer(context, builder, signature.args[0], *args)
        single, half, word = ir.FloatType(), ir.HalfType(), ir.IntType(32)
        if signature.args[0].dtype == types.float32:
            return builder.load(builder.bitcast(pointer, single.as_pointer()))
        if signature.args[0].dtype == types.int16:
            value = builder.load(builder.bitcast(pointer, half.as_pointer()), align=2)
            return builder.fpext(value, single)
        value = builder.load(builder.bitcast(pointer, ir.IntType(16).as_pointer()))
        bits = builder.shl(builder.zext(value, word), ir.Constant(word, 16))
        return builder.bitcast(bits, single)

    return types.float32(array, types.intp, types.intp), codegen
