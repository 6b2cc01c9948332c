"""`s2anta_flash` in float64 with plain torch: the specification of the kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpu_kernels.dense.reference import sequence_rows
from gpu_kernels.page_table import PageTable
from gpu_kernels.request import check_decode
from gpu_kernels.s2anta_flash.budget import rows_per_head, tile_budget

if TYPE_CHECKING:
    import torch


def flash_given_rows(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    rows: torch.Tensor,
    *,
    samples: int,
    tile: int,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    pages: PageTable | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return Σ_t w_t·(mean of the tile's drawn rows), float64 [B, H, d].

    rows: int32 [B, H, R] as the kernel returns them; w_t: the tile's share of the softmax.
    Other arguments as the kernel's.
    """
    import torch

    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale, on_any_device=True,
    )
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    for b in range(request.batch):
        keys, values = sequence_rows(request, k, v, b, kv_layout)
        tiles = math.ceil(len(keys) / tile)
        budget = tile_budget(samples, tiles)
        for h in range(request.num_qo_heads if tiles else 0):
            kv_head = h // request.group
            scores = keys[:, kv_head] @ q[b, h].to(torch.float64) * request.sm_scale
            p = torch.softmax(scores, 0)
            for t in range(tiles):
                share = p[t * tile : (t + 1) * tile].sum()
                if share > 0:
                    drawn = rows[b, h, t * budget : (t + 1) * budget].long()
                    out[b, h] += share * values[drawn, kv_head].mean(0)
    return out


__all__ = ["flash_given_rows", "rows_per_head", "tile_budget"]
