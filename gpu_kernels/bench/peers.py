"""Dense decode attention by others, called exactly as named: a peer that cannot run is skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from gpu_kernels.bench.inputs import Inputs

NAMES = ("sdpa_cudnn", "sdpa_flash", "flashinfer")


class PeerUnavailable(RuntimeError):
    """The peer is not installed or refuses these inputs."""


def peer(name: str, inputs: Inputs, kv_layout: str) -> Callable[[], torch.Tensor]:
    """Return a call of one peer that gives [B, H, d]; raises `PeerUnavailable` with the reason."""
    try:
        call = _flashinfer(inputs, kv_layout) if name == "flashinfer" else _sdpa(
            name, inputs, kv_layout
        )
        call()
    except (ImportError, RuntimeError) as error:
        raise PeerUnavailable(f"{name}: {' '.join(str(error).split())[:200]}") from None
    return call


def _sdpa(name: str, inputs: Inputs, kv_layout: str) -> Callable[[], torch.Tensor]:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = {"sdpa_cudnn": SDPBackend.CUDNN_ATTENTION, "sdpa_flash": SDPBackend.FLASH_ATTENTION}
    q = inputs.q[:, :, None]
    k, v = (c.transpose(1, 2) if kv_layout == "NHD" else c for c in (inputs.k, inputs.v))

    def call() -> torch.Tensor:
        # one backend only: PyTorch raises instead of falling back to another
        with sdpa_kernel(backend[name]):
            out = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return out[:, :, 0]

    return call


def _flashinfer(inputs: Inputs, kv_layout: str) -> Callable[[], torch.Tensor]:
    import flashinfer  # type: ignore[import-not-found,unused-ignore]
    import torch

    if kv_layout != "NHD":
        raise PeerUnavailable("flashinfer: called with NHD caches only")
    page = 16
    batch, context, kv_heads, dim = inputs.k.shape
    if context % page:
        raise PeerUnavailable(f"flashinfer: needs a context divisible by the page size {page}")
    device = inputs.q.device
    pages = [c.view(batch * context // page, page, kv_heads, dim) for c in (inputs.k, inputs.v)]
    indptr = torch.arange(batch + 1, dtype=torch.int32, device=device) * (context // page)
    indices = torch.arange(batch * context // page, dtype=torch.int32, device=device)
    last = torch.full((batch,), page, dtype=torch.int32, device=device)
    scratch = torch.empty(256 * 2**20, dtype=torch.uint8, device=device)
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(scratch, "NHD", use_tensor_cores=True)
    wrapper.plan(indptr, indices, last, inputs.q.shape[1], kv_heads, dim, page,
                 q_data_type=inputs.q.dtype, kv_data_type=inputs.k.dtype)
    return lambda: wrapper.run(inputs.q, (pages[0], pages[1]))
