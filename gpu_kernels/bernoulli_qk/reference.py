"""`bernoulli_qk` in float64 with plain torch, for given digits: what the kernels must give."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpu_kernels.bernoulli_qk.inputs import check_feature_major
from gpu_kernels.s2anta_flash.budget import tile_budget

if TYPE_CHECKING:
    import torch


def digit_units(
    q: torch.Tensor, *, trials: int, scale: str = "exact", sm_scale: float | None = None
) -> torch.Tensor:
    """Return c/R, float64 [B, H]: c = max_j |q_j·sm_scale|, or the next one whose c/R is 2^i."""
    import torch

    factor = 1 / math.sqrt(q.shape[2]) if sm_scale is None else sm_scale
    unit = (q.to(torch.float64).abs() * abs(factor)).amax(2) / trials
    if scale == "power_of_two":
        unit = torch.where(unit > 0, torch.exp2(torch.ceil(torch.log2(unit))), 0.0)
    return unit


def decode_given_digits(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    digits: torch.Tensor,
    *,
    trials: int,
    scale: str = "exact",
    rows: torch.Tensor | None = None,
    samples: int = 1,
    tile: int = 64,
    seq_lens: torch.Tensor | None = None,
    sm_scale: float | None = None,
    kv_layout: str = "NHD",
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (out float64 [B, H, d], lse float64 [B, H] in base 2) of scores c/R·Σ_j digits_j·K_j.

    digits: int32 [B, H, d]. rows: as `bernoulli_qk_flash_decode` returns them, to average those
    within tiles of `tile` keys instead of reading all values. Other arguments as the kernels'.
    """
    import torch

    request = check_feature_major(
        q, k, v, trials=trials, scale=scale, seq_lens=seq_lens, sm_scale=sm_scale,
        kv_layout=kv_layout, k_scale=k_scale, v_scale=v_scale, on_any_device=True,
    ).rows
    unit = digit_units(q, trials=trials, scale=scale, sm_scale=sm_scale)
    out = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    lse = torch.full(q.shape[:2], -math.inf, dtype=torch.float64, device=q.device)
    for b in range(request.batch):
        n = request.context if seq_lens is None else int(seq_lens[b])
        for h in range(request.num_qo_heads if n else 0):
            kv_head = h // request.group
            touched = digits[b, h].nonzero()[:, 0]
            keys = k[b, kv_head].to(torch.float64)[touched, :n]
            values = (v[b, :n, kv_head] if kv_layout == "NHD" else v[b, kv_head, :n]).double()
            keys = keys if k_scale is None else keys * k_scale[kv_head]
            values = values if v_scale is None else values * v_scale[kv_head]
            scores = digits[b, h, touched].double() @ keys * unit[b, h]
            lse[b, h] = torch.logsumexp(scores, 0) / math.log(2)
            p = torch.softmax(scores, 0)
            if rows is None:
                out[b, h] = p @ values
                continue
            tiles = math.ceil(n / tile)
            budget = tile_budget(samples, tiles)
            for t in range(tiles):
                drawn = rows[b, h, t * budget : (t + 1) * budget].long()
                if int(drawn.min()) >= 0:
                    out[b, h] += p[t * tile : (t + 1) * tile].sum() * values[drawn].mean(0)
    return out, lse
