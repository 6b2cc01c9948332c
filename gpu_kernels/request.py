"""A decode request: the checked inputs of one attention step, in the form the kernels take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_kernels.page_table import PageTable, check_pages
from gpu_kernels.requirement import require

if TYPE_CHECKING:
    import torch

HEAD_DIMS = (64, 80, 96, 128, 192, 256)
"""Head dimensions the kernels are compiled for."""
LAYOUTS = ("NHD", "HND")
MAX_BATCH = 2**16
"""The counter of the random numbers keeps 16 bits for the sequence and 16 for the head."""
MAX_HEADS = 2**16


@dataclass(frozen=True)
class DecodeRequest:
    """Checked shapes, strides (in elements) and tensors of one decode step.

    q: [batch, num_qo_heads, head_dim]; k, v: caches whose head_dim axis is contiguous (float8 as
    uint8 where the device cannot convert it itself); seq_lens: int32 [batch] or None; pages: of a
    paged cache, or None; k_scale, v_scale: float32 [num_kv_heads] or None; page_size: rows of a
    page, 0 without pages; context: keys that a sequence can have at most; sm_scale: logits per
    unit of q·k.
    k_strides, v_strides: elements from one (sequence or page, row, KV head) to the next.
    """

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    seq_lens: torch.Tensor | None
    pages: PageTable | None
    k_scale: torch.Tensor | None
    v_scale: torch.Tensor | None
    batch: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    page_size: int
    context: int
    sm_scale: float
    k_strides: tuple[int, int, int]
    v_strides: tuple[int, int, int]

    @property
    def group(self) -> int:
        """Query heads that share one KV head, G = H/KVH."""
        return self.num_qo_heads // self.num_kv_heads

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of one KV head."""
        return int(self.head_dim * self.k.element_size())


def check_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    seq_lens: torch.Tensor | None,
    sm_scale: float | None,
    kv_layout: str,
    pages: PageTable | None = None,
    k_scale: torch.Tensor | None = None,
    v_scale: torch.Tensor | None = None,
    on_any_device: bool = False,
) -> DecodeRequest:
    """Check the inputs of a decode step; returns a `DecodeRequest`.

    q: [B, H, d]. k, v: [B, n, KVH, d] ("NHD") or [B, KVH, n, d] ("HND"); with `pages` the first
    axis counts pages and n is the page size. seq_lens: int32 [B]. `sm_scale=None` means 1/√d.
    k_scale, v_scale: float32 [KVH], for float8 caches. on_any_device: for references, which need
    no kernel. Raises `ValueError` naming argument, requirement and value.
    """
    import torch

    for name, tensor, rank in (("q", q, 3), ("k", k, 4), ("v", v, 4)):
        require(isinstance(tensor, torch.Tensor), name, "a torch tensor", type(tensor).__name__)
        require(tensor.dim() == rank, name, f"of rank {rank}", f"shape {tuple(tensor.shape)}")
    require(kv_layout in LAYOUTS, "kv_layout", f"one of {', '.join(LAYOUTS)}", repr(kv_layout))
    _check_types(q, k, v, k_scale, v_scale)
    batch, heads, dim = q.shape
    n_axis, h_axis = (1, 2) if kv_layout == "NHD" else (2, 1)
    kv_heads, rows = k.shape[h_axis], k.shape[n_axis]
    require(dim in HEAD_DIMS, "q", f"of head_dim in {HEAD_DIMS}", dim)
    require(k.shape[3] == dim, "k", f"of q's head_dim {dim}", k.shape[3])
    require(pages is not None or k.shape[0] == batch, "k", f"of q's batch {batch}", k.shape[0])
    require(0 < batch < MAX_BATCH, "q", f"of a batch within 1..{MAX_BATCH - 1}", batch)
    require(
        heads > 0 and kv_heads > 0 and heads % kv_heads == 0, "q",
        f"of a head count divisible by k's {kv_heads}", heads,
    )
    require(heads < MAX_HEADS, "q", f"of at most {MAX_HEADS - 1} heads", heads)
    for name, scales in (("k_scale", k_scale), ("v_scale", v_scale)):
        if scales is not None:
            check_vector(name, scales, kv_heads, torch.float32, q)
    scale = 1.0 / math.sqrt(dim) if sm_scale is None else float(sm_scale)
    require(math.isfinite(scale), "sm_scale", "finite", sm_scale)
    context = rows
    if pages is not None:
        require(seq_lens is None, "seq_lens", "left out with pages, which give the lengths", "both")
        check_pages(pages, batch, rows, k.shape[0], q)
        context = pages.max_seq_len
    elif seq_lens is not None:
        check_vector("seq_lens", seq_lens, batch, torch.int32, q)
        _check_lengths(seq_lens, context)
    if not on_any_device:
        check_device(q)
    return DecodeRequest(
        q, _as_kernel_reads(k), _as_kernel_reads(v), seq_lens, pages, k_scale, v_scale,
        batch, heads, kv_heads, dim, rows if pages is not None else 0, context, scale,
        (k.stride(0), k.stride(n_axis), k.stride(h_axis)),
        (v.stride(0), v.stride(n_axis), v.stride(h_axis)),
    )


def _check_types(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    k_scale: torch.Tensor | None, v_scale: torch.Tensor | None,
) -> None:
    import torch

    float_types = (torch.bfloat16, torch.float16, torch.float32)
    require(q.dtype in float_types, "q", "bfloat16, float16 or float32", q.dtype)
    stored = (q.dtype, torch.float8_e4m3fn)
    require(k.dtype in stored, "k", f"of q's dtype {q.dtype} or float8_e4m3fn", k.dtype)
    require(v.dtype == k.dtype, "v", f"of k's dtype {k.dtype}", v.dtype)
    require(k.shape == v.shape, "v", f"of k's shape {tuple(k.shape)}", tuple(v.shape))
    for name, tensor in (("k", k), ("v", v)):
        require(tensor.device == q.device, name, f"on q's device {q.device}", tensor.device)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        require(tensor.stride(-1) == 1, name, "contiguous along head_dim (stride 1)",
                f"stride {tensor.stride(-1)}")
    if k.dtype != torch.float8_e4m3fn:
        for name, scales in (("k_scale", k_scale), ("v_scale", v_scale)):
            require(scales is None, name, "left out unless k and v are float8_e4m3fn", k.dtype)


def check_vector(
    name: str, tensor: torch.Tensor, length: int, dtype: torch.dtype, q: torch.Tensor
) -> None:
    """Raise unless `tensor` is a contiguous [length] vector of `dtype` on q's device."""
    import torch

    require(isinstance(tensor, torch.Tensor), name, "a torch tensor", type(tensor).__name__)
    require(tensor.dtype == dtype, name, f"{dtype}", tensor.dtype)
    require(tuple(tensor.shape) == (length,), name, f"of shape ({length},)", tuple(tensor.shape))
    require(tensor.device == q.device, name, f"on q's device {q.device}", tensor.device)
    require(tensor.is_contiguous(), name, "contiguous", f"strides {tensor.stride()}")


def _check_lengths(seq_lens: torch.Tensor, context: int) -> None:
    # on a GPU the values are not read back (that would stop the stream and break graph capture);
    # the kernels clamp every length to the storage instead
    if seq_lens.device.type == "cpu":
        low, high = int(seq_lens.min()), int(seq_lens.max())
        require(
            low >= 0 and high <= context, "seq_lens",
            f"within 0..{context}, the keys that k and v hold", f"{low}..{high}",
        )


def check_device(q: torch.Tensor) -> None:
    """Raise unless the kernels can run where `q` lies: a CUDA device, or Triton's interpreter."""
    import triton

    if q.device.type == "cuda":
        return
    require(
        q.device.type == "cpu" and bool(triton.knobs.runtime.interpret), "q",
        "on a CUDA device (compute capability 8.0 or later); without a GPU the `reference` modules"
        " work, and so do the kernels when TRITON_INTERPRET=1 is set before they are imported",
        q.device,
    )


def _as_kernel_reads(cache: torch.Tensor) -> torch.Tensor:
    """Return float8 as raw bytes where Triton cannot convert it: before sm_89, and on CPU."""
    import torch

    if cache.dtype != torch.float8_e4m3fn or reads_float8(cache.device):
        return cache
    return cache.view(torch.uint8)


def reads_float8(device: torch.device) -> bool:
    """Return whether kernels on `device` can convert float8 themselves."""
    import torch

    return device.type == "cuda" and bool(torch.cuda.get_device_capability(device) >= (8, 9))


def check_samples(samples: int) -> None:
    """Raise unless `samples` is an integer of at least 1."""
    valid = isinstance(samples, int) and not isinstance(samples, bool)
    require(valid and 1 <= samples <= 2**24, "samples", "an integer within 1..2^24", samples)


def check_tile(tile: int, least: int, most: int) -> None:
    """Raise unless `tile` is a power of two within least..most keys."""
    valid = isinstance(tile, int) and least <= tile <= most and tile & (tile - 1) == 0
    require(valid, "tile", f"a power of two within {least}..{most} keys", tile)


def check_output(
    name: str, tensor: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype, q: torch.Tensor
) -> None:
    """Raise unless a caller's output has the shape, dtype and device and is contiguous."""
    require(tuple(tensor.shape) == shape, name, f"of shape {shape}", tuple(tensor.shape))
    require(tensor.dtype == dtype, name, str(dtype), tensor.dtype)
    require(tensor.device == q.device, name, f"on q's device {q.device}", tensor.device)
    require(tensor.is_contiguous(), name, "contiguous", f"strides {tensor.stride()}")
