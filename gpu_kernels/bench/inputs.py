"""Queries and caches for the bench, with attention of a stated shape for any heads and d."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

QUERY_LENGTH = 4.0
"""Norm of the queries that carry chosen scores: large scores stay small numbers in the keys."""


@dataclass(frozen=True)
class Shape:
    """Sizes of one decode step."""

    batch: int
    context: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int

    @property
    def group(self) -> int:
        """Query heads per KV head."""
        return self.num_qo_heads // self.num_kv_heads


@dataclass(frozen=True)
class Inputs:
    """q [B, H, d], k and v [B, n, KVH, d] (or HND), and how concentrated the attention is.

    effective_support: median over heads of 1/Σp², as the stored q and k give it. k_scale, v_scale:
    float32 [KVH], of float8 caches.
    """

    name: str
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    effective_support: float
    k_scale: torch.Tensor | None = None
    v_scale: torch.Tensor | None = None


def capture_scores(path: Path, trace: str) -> torch.Tensor:
    """Return the logits of one captured trace, float32 [steps·H, n], KV heads' groups together.

    path: npz with `{trace}_q` [steps, H, d], `{trace}_K` [n, KVH, d] and a JSON text `meta` that
    holds `scale`. Only the keys that every step reads are used.
    """
    import numpy as np
    import torch

    with np.load(path, allow_pickle=False) as file:
        q = torch.from_numpy(file[f"{trace}_q"].astype(np.float32))
        k = torch.from_numpy(file[f"{trace}_K"].astype(np.float32))
        meta = json.loads(str(file["meta"]))
    found = next(t for t in meta["traces"] if t["id"] == trace)
    k = k[: min(found["kv_len_of_step"])]
    steps, heads, dim = q.shape
    grouped = q.view(steps, k.shape[1], heads // k.shape[1], dim)
    scores = torch.einsum("skgd,nkd->skgn", grouped, k) * meta["scale"]
    return scores.reshape(-1, k.shape[0])


def stretched(scores: torch.Tensor, context: int) -> torch.Tensor:
    """Return scores [heads, n] stretched or squeezed to `context` keys, each repeated in place."""
    import torch

    index = torch.arange(context, dtype=torch.float64) * (scores.shape[1] / context)
    return scores[:, index.long()]


def zipf_scores(context: int, exponent: float, heads: int, seed: int) -> torch.Tensor:
    """Return logits −exponent·log(rank), ranks shuffled per head: float32 [heads, context]."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    ranks = torch.arange(1, context + 1, dtype=torch.float32)
    shuffled = [torch.randperm(context, generator=generator) for _ in range(heads)]
    return torch.stack([-exponent * ranks[order].log() for order in shuffled])


def flat_inputs(
    shape: Shape, dtype: torch.dtype, kv_layout: str, device: torch.device, seed: int
) -> Inputs:
    """Return standard normal q, K and V: logits of standard deviation 1, nearly flat attention."""
    import torch

    generator = torch.Generator(device).manual_seed(seed)
    q = torch.randn(shape.batch, shape.num_qo_heads, shape.head_dim, generator=generator,
                    device=device).to(dtype)
    k, v = (_normal_cache(shape, dtype, kv_layout, device, generator) for _ in range(2))
    return Inputs("flat", q, k, v, effective_support(q, k, kv_layout))


def scored_inputs(
    name: str, scores: torch.Tensor, shape: Shape, dtype: torch.dtype, kv_layout: str,
    device: torch.device, seed: int,
) -> Inputs:
    """Return inputs whose logits q·k/√d are the given ones, up to the rounding of q and k.

    scores: float32 [rows, n]; query head h of sequence b takes row (b·H + h) mod rows. Queries of
    a group are orthogonal (G <= d) and dense; keys are their combination plus noise orthogonal
    to all of them, which no score sees.
    """
    import torch

    generator = torch.Generator(device).manual_seed(seed)
    scores = stretched(scores, shape.context).to(device)
    k, v = (_normal_cache(shape, dtype, kv_layout, device, generator) for _ in range(2))
    q = torch.empty(shape.batch, shape.num_qo_heads, shape.head_dim, dtype=dtype, device=device)
    rows_first = k if kv_layout == "NHD" else k.transpose(1, 2)
    for b in range(shape.batch):
        for h in range(shape.num_kv_heads):
            heads = torch.arange(h * shape.group, (h + 1) * shape.group)
            noise = torch.randn(shape.head_dim, shape.group, generator=generator, device=device)
            basis = torch.linalg.qr(noise).Q.T
            stored = (QUERY_LENGTH * basis).to(dtype)
            q[b, heads] = stored
            wanted = scores[(b * shape.num_qo_heads + heads) % len(scores)]
            wanted = wanted - wanted.amax(1, keepdim=True)
            keys = rows_first[b, :, h].float()
            keys -= keys @ basis.T @ basis
            per_unit = shape.head_dim**0.5 / QUERY_LENGTH
            rows_first[b, :, h] = (keys + (wanted * per_unit).T @ basis).to(dtype)
    return Inputs(name, q, k, v, effective_support(q, k, kv_layout))


def float8_inputs(inputs: Inputs, kv_layout: str) -> Inputs:
    """Return the inputs with caches in float8_e4m3fn, scaled so that each KV head fills its range.

    The logits change by the rounding of the keys, and with them the exact answer.
    """
    import torch

    largest = torch.finfo(torch.float8_e4m3fn).max
    stored, scales = [], []
    for cache in (inputs.k, inputs.v):
        axes, shape = ((0, 1, 3), (1, 1, -1, 1)) if kv_layout == "NHD" else ((0, 2, 3),
                                                                             (1, -1, 1, 1))
        scale = cache.abs().amax(axes).float() / largest
        rows = torch.empty_like(cache, dtype=torch.float8_e4m3fn)
        for b in range(len(cache)):
            rows[b] = (cache[b].float() / scale.view(shape[1:])).to(rows.dtype)
        stored.append(rows)
        scales.append(scale)
    keys = stored[0][:1].float() * scales[0].view(shape)
    return Inputs(inputs.name, inputs.q, stored[0], stored[1],
                  effective_support(inputs.q, keys, kv_layout), scales[0], scales[1])


def _normal_cache(
    shape: Shape, dtype: torch.dtype, kv_layout: str, device: torch.device,
    generator: torch.Generator,
) -> torch.Tensor:
    import torch

    inner = (shape.context, shape.num_kv_heads)
    size = (shape.batch, *(inner if kv_layout == "NHD" else inner[::-1]), shape.head_dim)
    cache = torch.empty(size, dtype=dtype, device=device)
    for b in range(shape.batch):
        cache[b] = torch.randn(size[1:], generator=generator, device=device).to(dtype)
    return cache


def effective_support(q: torch.Tensor, k: torch.Tensor, kv_layout: str) -> float:
    """Return the median over the first sequence's heads of 1/Σp², p = softmax(q·k/√d)."""
    import torch

    rows_first = k[0] if kv_layout == "NHD" else k[0].transpose(0, 1)
    group = q.shape[1] // rows_first.shape[1]
    found = []
    for h in range(q.shape[1]):
        scores = rows_first[:, h // group].float() @ q[0, h].float() * q.shape[2] ** -0.5
        found.append(float(1 / torch.softmax(scores.double(), 0).square().sum()))
    return float(torch.tensor(found).median())
