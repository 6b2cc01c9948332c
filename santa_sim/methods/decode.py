"""Decode attention at the sampled level: output, the exact rows read, and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Ledger
from santa_sim.methods.checks import check_values, checked_inputs
from santa_sim.methods.counting import Tally, count_group
from santa_sim.methods.group import run_sequence
from santa_sim.methods.spec import value_stage
from santa_sim.rng import stream_key
from santa_sim.storage import as_stored


@dataclass(frozen=True)
class DrawnRows:
    """Which rows each query head drew, and how often.

    indptr: int64 [B·H + 1]; rows, counts: int32; head h of sequence b owns the slice
    indptr[b·H + h] : indptr[b·H + h + 1], rows ascending.
    """

    num_qo_heads: int
    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]

    def of(self, batch: int, head: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return (rows, counts) of one query head of one sequence."""
        i = batch * self.num_qo_heads + head
        part = slice(self.indptr[i], self.indptr[i + 1])
        return self.rows[part], self.counts[part]

    def union(self, batch: int, kv_head: int, group_size: int) -> NDArray[np.int32]:
        """Return the rows that one KV head reads for all its query heads, ascending."""
        heads = range(kv_head * group_size, (kv_head + 1) * group_size)
        return np.unique(np.concatenate([self.of(batch, head)[0] for head in heads]))


@dataclass(frozen=True)
class Decoded:
    """Result of `decode`.

    out: float32 [B, H, d]. rows: what was drawn, or None where every row is read (dense values).
    unique_rows: int64 [B, KVH], V rows read at least once per KV head.
    effective_samples: int64 [B, H], rows drawn per query head (n for dense values).
    ledger: operations and bytes of the whole call.
    """

    out: NDArray[np.float32]
    rows: DrawnRows | None
    unique_rows: NDArray[np.int64]
    effective_samples: NDArray[np.int64]
    ledger: Ledger


def decode(
    method: Any,
    q: NDArray[np.float32],
    k: NDArray[Any],
    v: NDArray[Any],
    *,
    seq_lens: NDArray[np.int64] | None = None,
    sm_scale: float | None = None,
    seed: int = 0,
    step: int = 0,
    layer: int = 0,
    check_finite: bool = True,
) -> Decoded:
    """Run one decode step of a method on the CPU and count everything it does.

    out[b, h] estimates Σ_i p_i v_i, p = softmax(q[b, h]·k[b, i, h//G]·sm_scale), G = H/KVH.

    method: from `santa_sim.methods.method(name, ...)` or a study.
    q: float32 [B, H, d]. k, v: [B, n, KVH, d] (NHD), float32, float16, or bf16 as uint16 or
    ml_dtypes.bfloat16; any strides as long as a row's d numbers are contiguous.
    seq_lens: rows that count in each sequence, [B], within 0..n, default n; rows beyond are not
    looked at; an empty sequence gives zeros. sm_scale: logits per unit of q·k, default 1/√d.
    seed, step, layer: with the batch row, head and tile they key every random draw, so a result
    does not depend on threads, on order, or on what else is in the batch's other rows.
    check_finite: look at all of v before sampling it; without, a value that is not finite is an
    error only where a draw reads it. For callers that have checked v already.

    Returns `Decoded`. Raises `ValueError` naming the argument for a wrong shape, type, range or
    number that is not finite.
    Source: SANTA, arXiv 2605.01910, sections 3 and 4; argument names as FlashInfer.
    """
    lens, scaled = checked_inputs(q, k, v, seq_lens, sm_scale)
    batch, heads, d = q.shape
    kv_heads = k.shape[2]
    group_size = heads // kv_heads
    k, v = as_stored(k), as_stored(v)
    tally = Tally()
    out = np.zeros((batch, heads, d), np.float32)
    unique = np.zeros((batch, kv_heads), np.int64)
    effective = np.zeros((batch, heads), np.int64)
    drawn: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    dense = value_stage(method) == "dense"
    if check_finite and not dense:  # where every row is read, the output tells
        check_values(v, lens)
    for b in range(batch):
        key = stream_key(seed, step, layer, b)
        n = int(lens[b])
        if n == 0:
            drawn += [(np.empty(0, np.int32), np.empty(0, np.int32))] * heads
            continue
        results = run_sequence(method, scaled[b], k[b, :n], v[b, :n], key, b)
        for h, result in enumerate(results):
            own = slice(h * group_size, (h + 1) * group_size)
            out[b, own] = result.out
            effective[b, own] = result.draws
            count_group(method, result.facts, tally)
            if result.drawn is None:
                unique[b, h] = n
                continue
            unique[b, h] = result.drawn.union
            for start, stop in pairwise(result.drawn.indptr):
                drawn.append((result.drawn.rows[start:stop], result.drawn.counts[start:stop]))
    if not np.isfinite(out).all():
        check_values(v, lens)
    rows = None if dense else _pack(drawn, heads)
    return Decoded(out, rows, unique, effective, tally.ledger())


def _pack(drawn: list[tuple[NDArray[np.int32], NDArray[np.int32]]], heads: int) -> DrawnRows:
    lengths = [len(rows) for rows, _ in drawn]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.concatenate([np.empty(0, np.int32), *(r for r, _ in drawn)])
    counts = np.concatenate([np.empty(0, np.int32), *(c for _, c in drawn)])
    return DrawnRows(heads, indptr, rows, counts)
