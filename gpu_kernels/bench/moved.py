"""Bytes that a kernel must move to and from device memory, from what it really drew."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from gpu_kernels.bench.inputs import Shape


def union_rows(rows: torch.Tensor, shape: Shape) -> int:
    """Return how many V rows are read at least once per KV head, summed over KV heads.

    rows: int32 [B, H, R], −1 where none was drawn.
    """
    import torch

    seen = torch.zeros(
        shape.batch, shape.num_kv_heads, shape.context + 1, dtype=torch.bool, device=rows.device
    )
    grouped = rows.view(shape.batch, shape.num_kv_heads, -1).long()
    seen.scatter_(2, torch.where(grouped < 0, shape.context, grouped), True)
    return int(seen[:, :, : shape.context].sum())


def cache_bytes(shape: Shape, rows: int, itemsize: int) -> int:
    """Return bytes of all keys and of `rows` value rows (over all KV heads and sequences)."""
    keys = shape.batch * shape.num_kv_heads * shape.context
    return (keys + rows) * shape.head_dim * itemsize


def whole_cache_bytes(shape: Shape, itemsize: int) -> int:
    """Return bytes of all keys and values."""
    return cache_bytes(shape, shape.batch * shape.num_kv_heads * shape.context, itemsize)


def stash_bytes(shape: Shape, samples: int, tile: int, stash_itemsize: int) -> int:
    """Return bytes of the stash and masses, written once, and of what the draws read.

    Each draw reads one 16-key block of weights and of block masses; tile masses are read once, and
    their running sums are written and read.
    """
    heads = shape.batch * shape.num_qo_heads
    tiles = -(-shape.context // tile)
    written = tiles * tile * stash_itemsize + tiles * (tile // 16) * 4 + 2 * tiles * 4
    read = samples * (16 * stash_itemsize + tile // 16 * 4) + 2 * tiles * 4
    running = 2 * tiles * 4
    return heads * (written + min(read, written) + running)
