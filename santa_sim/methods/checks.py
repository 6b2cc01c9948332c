"""Checks of a decode call's arguments, before any work."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.storage import dtype_of


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
    if k.ndim != 4 or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[2]:
        raise ValueError(
            f"k must be [B, n, KVH, d] with B = {q.shape[0]} and d = {q.shape[2]}, "
            f"got {list(k.shape)}"
        )
    if v.shape != k.shape or v.dtype != k.dtype:
        raise ValueError(f"v must be as k, {k.dtype} {list(k.shape)}, got {v.dtype} {list(v.shape)}")
    if k.shape[2] == 0 or q.shape[1] % k.shape[2]:
        raise ValueError(f"H must be a multiple of KVH, got H = {q.shape[1]}, KVH = {k.shape[2]}")
    if not np.isfinite(q).all():
        raise ValueError("q must be finite")
    lens = np.full(q.shape[0], k.shape[1], np.int64) if seq_lens is None else np.asarray(seq_lens)
    if lens.shape != (q.shape[0],) or not np.issubdtype(lens.dtype, np.integer):
        raise ValueError(f"seq_lens must be {q.shape[0]} integers, got {lens.dtype} {lens.shape}")
    if ((lens < 0) | (lens > k.shape[1])).any():
        raise ValueError(f"seq_lens must be within 0..{k.shape[1]}, got {lens.tolist()}")
    scale = 1.0 / math.sqrt(q.shape[2]) if sm_scale is None else sm_scale
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"sm_scale must be finite and above 0, got {scale}")
    return lens.astype(np.int64), (q * np.float32(scale)).astype(np.float32)
