"""Number formats as stored: bf16 lives in uint16 arrays, fp16 and fp32 in NumPy's own types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Dtype

STORED: dict[Dtype, np.dtype[Any]] = {
    Dtype.BF16: np.dtype(np.uint16),
    Dtype.FP16: np.dtype(np.float16),
    Dtype.FP32: np.dtype(np.float32),
}
"""The NumPy type that holds each storage format."""


def dtype_of(array: NDArray[Any]) -> Dtype:
    """Return the storage format of an array: uint16 or ml_dtypes.bfloat16 is bf16.

    Raises `TypeError` for any other type than those, float16 and float32.
    """
    if array.dtype == np.uint16 or array.dtype.name == "bfloat16":
        return Dtype.BF16
    if array.dtype == np.float16:
        return Dtype.FP16
    if array.dtype == np.float32:
        return Dtype.FP32
    raise TypeError(
        f"dtype must be float32, float16 or bf16 (uint16 or ml_dtypes.bfloat16), got {array.dtype}"
    )


def as_stored(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array in the type that the kernels read (a view; bfloat16 becomes uint16)."""
    return array.view(np.uint16) if dtype_of(array) is Dtype.BF16 else array


def encode(values: NDArray[np.floating[Any]], dtype: Dtype) -> NDArray[Any]:
    """Round float values to a storage format, ties to even.

    values: any shape; float64 goes through float32 first, as in PyTorch. dtype: bf16, fp16 or fp32.
    Returns the same shape in `STORED[dtype]`. As IEEE 754 has it, a value beyond the format's
    range becomes an infinity, and NaN stays NaN.
    """
    with np.errstate(over="ignore"):
        single = np.asarray(values).astype(np.float32, order="C", copy=False)
        if dtype is not Dtype.BF16:
            return single.astype(STORED[dtype])
    bits = single.view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    stored = (rounded >> np.uint32(16)).astype(np.uint16)
    # the rounding carry would turn some NaNs into infinities or zeros
    return np.where(np.isnan(single), np.uint16(0x7FC0), stored)


def decode_stored(array: NDArray[Any]) -> NDArray[np.float32]:
    """Return stored values as float32, exactly (every format here is a subset of float32)."""
    if dtype_of(array) is not Dtype.BF16:
        return array.astype(np.float32)
    return (as_stored(array).astype(np.uint32) << np.uint32(16)).view(np.float32)
