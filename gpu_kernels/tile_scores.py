"""Scores of one tile of keys: keys along the rows and query heads along the columns of a product.

A product needs at least 8 columns, so a group of up to 8 heads pays for 8; queries as rows would
pay for 16.
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand, row_offsets


@triton.jit
def load_queries(q_ptr, batch, head, mine, q_stride_b, q_stride_h, HEAD_DIM: tl.constexpr,
                 BLOCK_D: tl.constexpr):
    """Return the queries of `head` (int32 [columns]) as the right operand [BLOCK_D, columns]."""
    dims = tl.arange(0, BLOCK_D)[:, None]
    rows = q_ptr + batch.to(tl.int64) * q_stride_b + head * q_stride_h
    return as_operand(tl.load(rows[None, :] + dims, mine[None, :] & (dims < HEAD_DIM), other=0.0),
                      q_ptr)


@triton.jit
def load_tile(base, indptr_ptr, indices_ptr, batch, first, length, stride_0,
              STRIDE_N: tl.constexpr, PAGE_SIZE: tl.constexpr, HEAD_DIM: tl.constexpr,
              BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, FULL: tl.constexpr):
    """Return the rows first … first + BLOCK_N − 1 of a cache, zeros from `length` on.

    FULL: all of them are below `length`. Offsets within a tile are constants for the compiler
    (STRIDE_N), so that one 64-bit addition serves all loads of a thread.
    """
    row = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, BLOCK_D)[None, :]
    live = first + row < length
    if PAGE_SIZE == 0:
        step = row.to(tl.int64) if STRIDE_N * BLOCK_N >= 2**31 else row
        address = base + tl.cast(first, tl.int64) * STRIDE_N + (step[:, None] * STRIDE_N + dims)
    else:
        offsets = row_offsets(first + row, live, indptr_ptr, indices_ptr, batch, stride_0,
                              STRIDE_N, PAGE_SIZE)
        address = base + offsets[:, None] + dims
    if FULL and HEAD_DIM == BLOCK_D:
        tile = tl.load(address)
    elif FULL:
        tile = tl.load(address, dims < HEAD_DIM, other=0.0)
    else:
        tile = tl.load(address, live[:, None] & (dims < HEAD_DIM), other=0.0)
    return tile
