"""Checks of a decode call's arguments, before any work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Dtype
from santa_sim.kernels.finite import all_finite
from santa_sim.storage import dtype_of

_CHUNK_ELEMENTS = 1 << 18

_EXPONENT_MASK: dict[Dtype, Any] = {
    Dtype.BF16: np.uint16(0x7F80), Dtype.FP16: np.uint16(0x7C00), Dtype.FP32: np.uint32(0x7F800000),
}
"""Bits that are all ones in an infinity or a NaN, and only there."""


def checked_inputs(
    q: NDArray[np.float32], k: NDArray[Any], v: NDArray[Any],
    seq_lens: NDArray[np.int64] | None, sm_scale: float | None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Check the arguments of a decode call; return (seq_lens int64 [B], q·sm_scale float32).

    Arguments as `santa_sim.methods.decode`. Raises `ValueError` naming argument, requirement and
    what was given.
    """
    if q.ndim != 3 or q.dtype != np.float32:
        raise ValueError(f"q must be float32 [B, H, d], got {q.dtype} {list(q.shape)}")
    for name, array in (("k", k), ("v", v)):
        try:
            dtype_of(array)
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from None
    if min(q.shape) < 1:
        raise ValueError(f"q must have B, H and d of at least 1, got {list(q.shape)}")
    if k.ndim != 4 or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[2]:
        raise ValueError(
            f"k must be [B, n, KVH, d] with B = {q.shape[0]} and d = {q.shape[2]}, "
            f"got {list(k.shape)}"
        )
    if v.shape != k.shape or v.dtype != k.dtype:
        raise ValueError(
            f"v must be as k, {k.dtype} {list(k.shape)}, got {v.dtype} {list(v.shape)}"
        )
    if k.shape[2] == 0 or q.shape[1] % k.shape[2]:
        raise ValueError(f"H must be a multiple of KVH, got H = {q.shape[1]}, KVH = {k.shape[2]}")
    bad = first_not_finite(q)
    if bad is not None:
        raise ValueError(f"q must be finite, but q{list(bad)} is not")
    lens = np.full(q.shape[0], k.shape[1], np.int64) if seq_lens is None else np.asarray(seq_lens)
    if lens.shape != (q.shape[0],) or not np.issubdtype(lens.dtype, np.integer):
        raise ValueError(f"seq_lens must be {q.shape[0]} integers, got {lens.dtype} {lens.shape}")
    if ((lens < 0) | (lens > k.shape[1])).any():
        raise ValueError(f"seq_lens must be within 0..{k.shape[1]}, got {lens.tolist()}")
    scale = 1.0 / math.sqrt(q.shape[2]) if sm_scale is None else sm_scale
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"sm_scale must be finite and above 0, got {scale}")
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = q * np.float32(scale)
    if not np.isfinite(scaled).all() or np.float32(scale) == 0:
        raise ValueError(f"sm_scale must keep q·sm_scale within float32, got {scale}")
    return lens.astype(np.int64), scaled


def check_values(v: NDArray[Any], seq_lens: NDArray[np.int64]) -> None:
    """Raise `ValueError` naming the first element of v that counts and is not finite.

    v: stored [B, n, KVH, d]; seq_lens: int64 [B]; rows beyond them are padding and may be anything.
    """
    for b, n in enumerate(seq_lens):
        if all_finite(v[b, :n]):
            continue
        bad = first_not_finite(v[b, :n])
        if bad is not None:
            raise ValueError(f"v must be finite, but v{[b, *bad]} is not")


def check_scores(
    scores: NDArray[np.float32], k: NDArray[Any], batch: int, kv_head: int
) -> None:
    """Raise `ValueError` if a score is not finite, naming k's element where that is the cause.

    scores: float32 [G, n]; k: stored [n, d], the keys they come from; batch, kv_head: where.
    Every key enters a score, so keys need no check of their own.
    """
    if np.isfinite(scores).all():
        return
    bad = first_not_finite(k)
    if bad is not None:
        raise ValueError(f"k must be finite, but k{[batch, bad[0], kv_head, bad[1]]} is not")
    raise ValueError(
        f"scores of sequence {batch}, KV head {kv_head} are not finite: q, k or sm_scale is too "
        "large for float32"
    )


def first_not_finite(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Return the index of the first NaN or infinity of a stored array [n, ...], or None.

    Works on chunks of rows that stay in a core's cache.
    """
    mask = _EXPONENT_MASK[dtype_of(array)]
    bits = array.view(mask.dtype)
    rows = max(1, _CHUNK_ELEMENTS // max(1, math.prod(array.shape[1:])))
    for start in range(0, len(bits), rows):
        bad = (bits[start : start + rows] & mask) == mask
        if bad.any():
            first, *rest = np.unravel_index(int(bad.argmax()), bad.shape)
            return (start + int(first), *map(int, rest))
    return None
