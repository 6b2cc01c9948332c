"""One decode step of attention, as every data source hands it over and every method takes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Dtype
from santa_sim.storage import as_stored, dtype_of

_CHUNK_ELEMENTS = 1 << 18
"""Elements looked at together when searching for NaN: small enough to stay in a core's cache."""

_EXPONENT_MASK = {Dtype.BF16: np.uint16(0x7F80), Dtype.FP16: np.uint16(0x7C00)}
"""Bits that are all ones in an infinity or a NaN, and only there."""


@dataclass(frozen=True, eq=False)
class AttentionStep:
    """The inputs of one decode step: out[b, h] = Σ_i softmax_i(q[b, h]·k[b, i, h//G]·sm_scale) v_i.

    q: float32 [B, H, d], holding only values of the storage format of k and v.
    k, v: [B, n, KVH, d] as stored: float32, float16 or bf16 (uint16; bfloat16 is viewed as such).
    seq_lens: int64 [B], rows that take part in each sequence, within 0..n; the rest is padding.
    sm_scale: logits per unit of q·k, finite and above 0.
    layer, step: position in the model and in the generated text; they key the random numbers.
    label: short text for tables; source: where the step comes from, such as
    `capture:smollm2-135m/t0`.
    represents: number of KV-head groups of the same law that each group here stands for, by which
    counts are multiplied (1: nothing is left out).

    Raises `ValueError` naming the argument if a shape, type, range or finiteness is wrong.
    """

    q: NDArray[np.float32]
    k: NDArray[Any]
    v: NDArray[Any]
    seq_lens: NDArray[np.int64]
    sm_scale: float
    layer: int
    step: int
    label: str
    source: str
    represents: int = 1

    def __post_init__(self) -> None:
        for name in ("k", "v"):
            try:
                object.__setattr__(self, name, as_stored(getattr(self, name)))
            except TypeError as error:
                raise ValueError(f"{name}: {error}") from None
        self._check_shapes()
        self._check_numbers()
        for name in ("q", "k", "v"):
            bad = first_not_finite(getattr(self, name))
            if bad is not None:
                raise ValueError(f"{name} must be finite, but {name}{list(bad)} is not")

    def _check_shapes(self) -> None:
        if self.q.dtype != np.float32:
            raise ValueError(f"q must be float32, got {self.q.dtype}")
        if self.seq_lens.dtype != np.int64:
            raise ValueError(f"seq_lens must be int64, got {self.seq_lens.dtype}")
        if self.q.ndim != 3 or self.k.ndim != 4:
            raise ValueError(
                f"q must be [B, H, d] and k [B, n, KVH, d], got {self.q.shape} and {self.k.shape}"
            )
        if self.v.shape != self.k.shape or self.v.dtype != self.k.dtype:
            raise ValueError(
                f"v must be as k, {self.k.dtype}{list(self.k.shape)}, "
                f"got {self.v.dtype}{list(self.v.shape)}"
            )
        batch, heads, head_dim = self.q.shape
        kv_heads = self.k.shape[2]
        if min(batch, heads, head_dim, kv_heads) < 1:
            raise ValueError(
                f"B, H, KVH and d must be at least 1, got q {self.q.shape} and k {self.k.shape}"
            )
        if (self.k.shape[0], self.k.shape[3]) != (batch, head_dim):
            raise ValueError(
                f"k must be [{batch}, n, KVH, {head_dim}] to go with q {self.q.shape}, "
                f"got {self.k.shape}"
            )
        if heads % kv_heads:
            raise ValueError(f"H must be a multiple of KVH, got H = {heads} and KVH = {kv_heads}")
        if self.seq_lens.shape != (batch,):
            raise ValueError(f"seq_lens must be [{batch}], got {self.seq_lens.shape}")

    def _check_numbers(self) -> None:
        if self.seq_lens.min() < 0 or self.seq_lens.max() > self.context:
            raise ValueError(
                f"seq_lens must be within 0..{self.context}, got {self.seq_lens.tolist()}"
            )
        if not (math.isfinite(self.sm_scale) and self.sm_scale > 0):
            raise ValueError(f"sm_scale must be finite and above 0, got {self.sm_scale}")
        for name, least in (("layer", 0), ("step", 0), ("represents", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")

    @property
    def batch(self) -> int:
        """B, the number of sequences."""
        return int(self.q.shape[0])

    @property
    def num_qo_heads(self) -> int:
        """H, the number of query heads that are held here."""
        return int(self.q.shape[1])

    @property
    def num_kv_heads(self) -> int:
        """KVH, the number of KV heads that are held here."""
        return int(self.k.shape[2])

    @property
    def group_size(self) -> int:
        """G = H / KVH, the query heads that read one KV head."""
        return self.num_qo_heads // self.num_kv_heads

    @property
    def head_dim(self) -> int:
        """d, the length of one row of K or V."""
        return int(self.q.shape[2])

    @property
    def context(self) -> int:
        """n, the rows that k and v have room for (padding included)."""
        return int(self.k.shape[1])

    @property
    def dtype(self) -> Dtype:
        """The storage format of k and v."""
        return dtype_of(self.k)


def first_not_finite(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Return the index of the first NaN or infinity, or None; works in chunks, without a copy.

    array: any shape, float32, float16 or bf16 (uint16).
    """
    dtype = dtype_of(array)
    flat = array.reshape(-1)  # a view unless the array is strided
    mask = _EXPONENT_MASK.get(dtype)
    bits = flat if mask is None else flat.view(np.uint16)
    for start in range(0, bits.size, _CHUNK_ELEMENTS):
        chunk = bits[start : start + _CHUNK_ELEMENTS]
        bad = ~np.isfinite(chunk) if mask is None else (chunk & mask) == mask
        if bad.any():
            where = np.unravel_index(start + int(bad.argmax()), array.shape)
            return tuple(int(i) for i in where)
    return None
