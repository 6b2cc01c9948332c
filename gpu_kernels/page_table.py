"""The page table of a paged KV cache, as FlashInfer lays it out, and its checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpu_kernels.requirement import require

if TYPE_CHECKING:
    import torch

MAX_PAGE_SIZE = 64


@dataclass(frozen=True)
class PageTable:
    """Which pages of the cache belong to each sequence.

    kv_indptr: int32 [B + 1]; kv_indices: int32 [kv_indptr[B]], page numbers in key order;
    last_page_len: int32 [B], keys in each sequence's last page, 1..page_size.
    Sequence b owns the pages kv_indices[kv_indptr[b] : kv_indptr[b + 1]]; without any it is empty.
    max_seq_len: keys of the longest sequence the call may meet. The host plans with it, so that
    nothing is read back from the device; longer sequences are cut to it.
    """

    kv_indptr: torch.Tensor
    kv_indices: torch.Tensor
    last_page_len: torch.Tensor
    max_seq_len: int


def check_pages(
    pages: PageTable, batch: int, page_size: int, num_pages: int, q: torch.Tensor
) -> None:
    """Check a page table against the batch and the cache; values too where reading is free.

    Raises `ValueError` naming argument, requirement and value.
    """
    import torch

    require(1 <= page_size <= MAX_PAGE_SIZE, "k", f"of a page size in 1..{MAX_PAGE_SIZE}",
            page_size)
    lengths = {"kv_indptr": batch + 1, "kv_indices": None, "last_page_len": batch}
    for name, length in lengths.items():
        tensor = getattr(pages, name)
        require(isinstance(tensor, torch.Tensor), name, "a torch tensor", type(tensor).__name__)
        require(tensor.dtype == torch.int32, name, "int32", tensor.dtype)
        require(tensor.dim() == 1 and tensor.is_contiguous(), name, "a contiguous vector",
                f"shape {tuple(tensor.shape)}, strides {tensor.stride()}")
        require(length in (None, tensor.shape[0]), name, f"of shape ({length},)",
                tuple(tensor.shape))
        require(tensor.device == q.device, name, f"on q's device {q.device}", tensor.device)
    require(isinstance(pages.max_seq_len, int) and pages.max_seq_len >= 0, "max_seq_len",
            "an integer of at least 0", pages.max_seq_len)
    if q.device.type == "cpu":
        _check_values(pages, page_size, num_pages)


def _check_values(pages: PageTable, page_size: int, num_pages: int) -> None:
    owned = pages.kv_indptr.diff()
    require(int(pages.kv_indptr[0]) == 0 and bool((owned >= 0).all()), "kv_indptr",
            "rising from 0", pages.kv_indptr.tolist())
    require(int(pages.kv_indptr[-1]) <= pages.kv_indices.shape[0], "kv_indices",
            f"of at least kv_indptr's {int(pages.kv_indptr[-1])} pages", pages.kv_indices.shape[0])
    if pages.kv_indices.numel():
        low, high = int(pages.kv_indices.min()), int(pages.kv_indices.max())
        require(low >= 0 and high < num_pages, "kv_indices",
                f"within 0..{num_pages - 1}, the pages that k and v hold", f"{low}..{high}")
    last = pages.last_page_len[owned > 0]
    require(bool(((last >= 1) & (last <= page_size)).all()), "last_page_len",
            f"within 1..{page_size}", pages.last_page_len.tolist())
    longest = int(sequence_lengths(pages, page_size).max())
    require(longest <= pages.max_seq_len, "max_seq_len",
            f"at least the longest sequence's {longest} keys", pages.max_seq_len)


def sequence_lengths(pages: PageTable, page_size: int) -> torch.Tensor:
    """Return the keys of each sequence, int32 [B]."""
    owned = pages.kv_indptr.diff()
    return ((owned - 1) * page_size + pages.last_page_len) * (owned > 0)

