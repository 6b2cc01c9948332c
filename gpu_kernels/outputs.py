"""What a decode call writes: the caller's tensors, checked, or new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_kernels.request import DecodeRequest, check_output

if TYPE_CHECKING:
    import torch


def outputs(
    request: DecodeRequest, out: torch.Tensor | None, lse: torch.Tensor | None, return_lse: bool
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return (out [B, H, d] in q's dtype, lse float32 [B, H] or None if nobody asks for it)."""
    import torch

    q = request.q
    if out is None:
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    check_output("out", out, tuple(q.shape), q.dtype, q)
    if lse is None and return_lse:
        lse = torch.empty(q.shape[:2], dtype=torch.float32, device=q.device)
    if lse is not None:
        check_output("lse", lse, tuple(q.shape[:2]), torch.float32, q)
    return out, lse


def answer(
    out: torch.Tensor, lse: torch.Tensor | None, return_lse: bool
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Return `out`, or (out, lse) where the caller asked for both, as FlashInfer does."""
    if not return_lse:
        return out
    assert lse is not None  # noqa: S101 - narrows the type: `outputs` made one
    return out, lse
