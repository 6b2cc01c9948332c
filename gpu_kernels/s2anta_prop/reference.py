"""`s2anta_prop` in float64 with plain torch: budgets and output, the specification."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpu_kernels.dense.reference import sequence_rows
from gpu_kernels.page_table import PageTable
from gpu_kernels.request import check_decode

if TYPE_CHECKING:
    import torch


def largest_remainder(masses: torch.Tensor, samples: int) -> torch.Tensor:
    """Return how many of S draws each tile gets, int64 [T]; Σ = S, 0 where there is no mass.

    masses: float64 [T], not all 0. Equal remainders: the earlier tile first.
    """
    import torch

    quota = samples * masses / masses.sum()
    budget = quota.floor()
    remainder = torch.where(masses > 0, quota - budget, -1.0)
    left = samples - int(budget.sum())
    first = torch.sort(remainder, descending=True, stable=True).indices[:left]
    budget[first] += 1
    return budget.long()


def prop_given_rows(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    rows: torch.Tensor,
    *,
    tile: int,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    pages: PageTable | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> tuple[torch.Tensor, list[list[torch.Tensor]]]:
    """Return (mean of the drawn rows, float64 [B, H, d]; budgets[b][h], int64 [T]).

    rows: int32 [B, H, S] as the kernel returns them; budgets: what each tile of BN keys should
    have got; no tiles for an empty sequence. Other arguments as the kernel's.
    """
    import torch

    request = check_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout, pages=pages,
        k_scale=k_scale, v_scale=v_scale, on_any_device=True,
    )
    samples = rows.shape[2]
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    budgets: list[list[torch.Tensor]] = []
    for b in range(request.batch):
        keys, values = sequence_rows(request, k, v, b, kv_layout)
        budgets.append([])
        for h in range(request.num_qo_heads):
            kv_head = h // request.group
            if not len(keys):
                budgets[b].append(torch.zeros(0, dtype=torch.int64))
                continue
            scores = keys[:, kv_head] @ q[b, h].to(torch.float64) * request.sm_scale
            p = torch.softmax(scores, 0)
            whole = torch.zeros(math.ceil(len(p) / tile) * tile, dtype=p.dtype, device=p.device)
            whole[: len(p)] = p
            budgets[b].append(largest_remainder(whole.view(-1, tile).sum(1), samples))
            out[b, h] = values[rows[b, h].long(), kv_head].mean(0)
    return out, budgets
