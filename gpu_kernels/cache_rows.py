"""Where a sequence's rows lie in a cache: the address arithmetic that all kernels share.

PAGE_SIZE = 0 is a cache without pages. Offsets are 64 bits wide: a 32-bit product would wrap for
caches past 2^31 elements.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

# the interpreter multiplies bfloat16 operands as if they were integers
INTERPRETED = tl.constexpr(bool(triton.knobs.runtime.interpret))


@triton.jit
def sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE: tl.constexpr):
    """Return the keys of one sequence, never more than `capacity`.

    lens_ptr: int32 [B], the lengths, or with pages the keys in each last page; None: all full.
    """
    length = capacity
    if PAGE_SIZE > 0:
        owned = tl.load(indptr_ptr + batch + 1) - tl.load(indptr_ptr + batch)
        keys = (owned - 1) * PAGE_SIZE + tl.load(lens_ptr + batch)
        length = tl.where(owned > 0, tl.minimum(keys, capacity), 0)
    elif lens_ptr is not None:
        length = tl.minimum(tl.maximum(tl.load(lens_ptr + batch), 0), capacity)
    return length


@triton.jit
def head_base(cache_ptr, batch, kv_head, stride_0, stride_h, PAGE_SIZE: tl.constexpr):
    """Return the pointer from which `row_offsets` count, for one sequence and KV head."""
    base = cache_ptr + kv_head.to(tl.int64) * stride_h
    if PAGE_SIZE == 0:
        base += batch.to(tl.int64) * stride_0
    return base


@triton.jit
def row_offsets(row, live, indptr_ptr, indices_ptr, batch, stride_0, stride_n,
                PAGE_SIZE: tl.constexpr):
    """Return the int64 element offset of each row from its sequence's base.

    row: int32 block; live: which rows may be looked up in the page table.
    """
    if PAGE_SIZE == 0:
        offset = row.to(tl.int64) * stride_n
    else:
        first_page = tl.load(indptr_ptr + batch)
        page = tl.load(indices_ptr + first_page + row // PAGE_SIZE, mask=live, other=0)
        offset = page.to(tl.int64) * stride_0 + (row % PAGE_SIZE).to(tl.int64) * stride_n
    return offset


@triton.jit
def as_float32(stored):
    """Return stored numbers as float32; raw float8 (e4m3) bytes are decoded.

    A byte's exponent and mantissa, shifted to float16's places, read 2^8 too small: exact, and
    subnormals need no case of their own. 0x7f (NaN) is kept.
    """
    if stored.dtype == tl.uint8:
        bits = stored.to(tl.uint16)
        word = ((bits & 0x80) << 8) | ((bits & 0x7F) << 7)
        value = word.to(tl.float16, bitcast=True).to(tl.float32) * 256.0
        stored = tl.where((bits & 0x7F) == 0x7F, float("nan"), value)
    return stored.to(tl.float32)


@triton.jit
def as_operand(stored, like_ptr):
    """Return stored numbers in the format in which the product with the query runs."""
    if stored.dtype == tl.uint8:
        stored = as_float32(stored)
    if INTERPRETED and like_ptr.dtype.element_ty == tl.bfloat16:
        stored = stored.to(tl.float32)
    else:
        stored = stored.to(like_ptr.dtype.element_ty)
    return stored
