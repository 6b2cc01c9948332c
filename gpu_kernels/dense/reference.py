"""Exact decode attention in float64 with plain torch: the specification of the kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpu_kernels.page_table import PageTable
from gpu_kernels.request import DecodeRequest, check_decode

if TYPE_CHECKING:
    import torch


def sequence_rows(
    request: DecodeRequest, k: torch.Tensor, v: torch.Tensor, batch: int, kv_layout: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return one sequence's keys and values, float64 [n, KVH, d], scales applied.

    k, v: the caches as the caller gave them; only rows of the sequence are read.
    """
    import torch

    found = []
    for cache, scale in ((k, request.k_scale), (v, request.v_scale)):
        pages = request.pages
        rows = cache if kv_layout == "NHD" else cache.transpose(1, 2)
        if pages is None:
            n = request.context if request.seq_lens is None else int(request.seq_lens[batch])
            mine = rows[batch, :n]
        else:
            first, last = int(pages.kv_indptr[batch]), int(pages.kv_indptr[batch + 1])
            n = (last - first - 1) * request.page_size + int(pages.last_page_len[batch])
            n = n if last > first else 0
            mine = rows[pages.kv_indices[first:last].long()].flatten(0, 1)[:n]
        mine = mine.to(torch.float64)
        found.append(mine if scale is None else mine * scale.to(torch.float64)[:, None])
    return found[0], found[1]


def dense_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    pages: PageTable | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (out float64 [B, H, d], lse float64 [B, H] in base 2); arguments as the kernel's."""
    import torch

    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale, on_any_device=True,
    )
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    lse = torch.full(q.shape[:2], -math.inf, dtype=torch.float64, device=q.device)
    for b in range(request.batch):
        keys, values = sequence_rows(request, k, v, b, kv_layout)
        for h in range(request.num_qo_heads if len(keys) else 0):
            kv_head = h // request.group
            scores = keys[:, kv_head] @ q[b, h].to(torch.float64) * request.sm_scale
            lse[b, h] = torch.logsumexp(scores, 0) / math.log(2)
            if lse[b, h] > -math.inf:
                out[b, h] = torch.softmax(scores, 0) @ values[:, kv_head]
    return out, lse
