"""Scores of one tile of feature-major keys, reading only features that some digit touches."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand


@triton.jit
def load_digits(digits_ptr, unit_ptr, flat_head, mine, HEAD_DIM: tl.constexpr,
                BLOCK_D: tl.constexpr):
    """Return (digits float32 [rows, BLOCK_D], logits in log2 per digit sum [rows], touched).

    flat_head: int64 [rows], batch·H + head; touched: int1 [BLOCK_D], whether some head of the
    program has a digit there.
    """
    dims = tl.arange(0, BLOCK_D)
    digits = tl.load(digits_ptr + flat_head[:, None] * HEAD_DIM + dims[None, :],
                     mine[:, None] & (dims < HEAD_DIM)[None, :], other=0)
    unit = tl.load(unit_ptr + flat_head, mine, other=0.0) * 1.4426950408889634
    return digits.to(tl.float32), unit, tl.max(tl.abs(digits), 0) > 0


@triton.jit
def tile_scores(k_base, first, last, digits, unit, touched, q_ptr, k_stride_d,
                BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    """Return unit·Σ_j digits_j·K_j of BLOCK_N keys, float32 [rows, BLOCK_N], −inf from `last` on.

    A feature that is not touched costs no bytes: its keys lie together and are not loaded.
    """
    key = tl.arange(0, BLOCK_N)
    live = first + key < last
    feature = tl.arange(0, BLOCK_D).to(tl.int64)
    address = (k_base + feature * k_stride_d)[:, None] + (first + key)[None, :]
    k = as_operand(tl.load(address, touched[:, None] & live[None, :], other=0.0), q_ptr)
    s = tl.dot(digits.to(k.dtype), k, input_precision="ieee") * unit[:, None]
    return tl.where(live[None, :], s, float("-inf"))
