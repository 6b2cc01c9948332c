"""The kernels as PyTorch operators, `torch.ops.santa.*`, which torch.compile takes as they are.

Each returns (out [B, H, d] in q's dtype, lse float32 [B, H], base 2) and changes no argument.
Arguments are those of the functions they call, in one order for all, except that a page table
comes as its parts (kv_indptr, kv_indices, last_page_len, max_seq_len) and the key of the random
numbers as `state`, the int64 device tensor (seed, step): what is read from it when the kernel
runs is never a constant of the compiled graph. Importing this module registers the operators.
"""

from typing import Any, TypeAlias

import torch

from gpu_kernels.bernoulli_qk import api as ternary
from gpu_kernels.dense.api import dense_decode
from gpu_kernels.page_table import PageTable
from gpu_kernels.requirement import require
from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
from gpu_kernels.s2anta_prop.api import s2anta_prop_decode

Both: TypeAlias = tuple[torch.Tensor, torch.Tensor]
Maybe: TypeAlias = torch.Tensor | None


def _pages(indptr: Maybe, indices: Maybe, last: Maybe, max_seq_len: int) -> PageTable | None:
    parts = {"kv_indptr": indptr, "kv_indices": indices, "last_page_len": last}
    if all(part is None for part in parts.values()):
        return None
    for name, part in parts.items():
        require(part is not None, name, "given with the other parts of the page table", part)
    return PageTable(**parts, max_seq_len=max_seq_len)


def _both(found: Any) -> Both:
    out, lse = found
    return out, lse


@torch.library.custom_op("santa::dense_decode", mutates_args=())
def dense(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seq_lens: Maybe = None,
    sm_scale: float | None = None, kv_layout: str = "NHD", kv_indptr: Maybe = None,
    kv_indices: Maybe = None, last_page_len: Maybe = None, max_seq_len: int = 0,
    k_scale: Maybe = None, v_scale: Maybe = None,
) -> Both:
    """Exact attention, `gpu_kernels.dense.api.dense_decode`."""
    return _both(dense_decode(
        q, k, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout,
        pages=_pages(kv_indptr, kv_indices, last_page_len, max_seq_len),
        k_scale=k_scale, v_scale=v_scale, return_lse=True,
    ))


@torch.library.custom_op("santa::s2anta_flash_decode", mutates_args=())
def s2anta_flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: torch.Tensor, layer: int,
    samples: int, tile: int, offsets: str = "own", seq_lens: Maybe = None,
    sm_scale: float | None = None, kv_layout: str = "NHD", kv_indptr: Maybe = None,
    kv_indices: Maybe = None, last_page_len: Maybe = None, max_seq_len: int = 0,
    k_scale: Maybe = None, v_scale: Maybe = None,
) -> Both:
    """Equal budgets per tile, `gpu_kernels.s2anta_flash.api.s2anta_flash_decode`."""
    return _both(s2anta_flash_decode(
        q, k, v, seed=state, layer=layer, samples=samples, tile=tile, offsets=offsets,
        seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout,
        pages=_pages(kv_indptr, kv_indices, last_page_len, max_seq_len),
        k_scale=k_scale, v_scale=v_scale, return_lse=True,
    ))


@torch.library.custom_op("santa::s2anta_comb_decode", mutates_args=())
def s2anta_comb(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: torch.Tensor, layer: int,
    samples: int, tile: int, offsets: str = "own", seq_lens: Maybe = None,
    sm_scale: float | None = None, kv_layout: str = "NHD", kv_indptr: Maybe = None,
    kv_indices: Maybe = None, last_page_len: Maybe = None, max_seq_len: int = 0,
    k_scale: Maybe = None, v_scale: Maybe = None,
) -> Both:
    """One comb over all keys, `gpu_kernels.s2anta_comb.api.s2anta_comb_decode`."""
    return _both(s2anta_comb_decode(
        q, k, v, seed=state, layer=layer, samples=samples, tile=tile, offsets=offsets,
        seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout,
        pages=_pages(kv_indptr, kv_indices, last_page_len, max_seq_len),
        k_scale=k_scale, v_scale=v_scale, return_lse=True,
    ))


@torch.library.custom_op("santa::s2anta_prop_decode", mutates_args=())
def s2anta_prop(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: torch.Tensor, layer: int,
    samples: int, tile: int, offsets: str = "own", seq_lens: Maybe = None,
    sm_scale: float | None = None, kv_layout: str = "NHD", kv_indptr: Maybe = None,
    kv_indices: Maybe = None, last_page_len: Maybe = None, max_seq_len: int = 0,
    k_scale: Maybe = None, v_scale: Maybe = None,
) -> Both:
    """Largest-remainder budgets (biased), `gpu_kernels.s2anta_prop.api.s2anta_prop_decode`."""
    return _both(s2anta_prop_decode(
        q, k, v, seed=state, layer=layer, samples=samples, tile=tile, offsets=offsets,
        seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout,
        pages=_pages(kv_indptr, kv_indices, last_page_len, max_seq_len),
        k_scale=k_scale, v_scale=v_scale, return_lse=True,
    ))


@torch.library.custom_op("santa::bernoulli_qk_decode", mutates_args=())
def bernoulli_qk(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: torch.Tensor, layer: int,
    trials: int, scale: str = "exact", seq_lens: Maybe = None, sm_scale: float | None = None,
    kv_layout: str = "NHD", k_scale: Maybe = None, v_scale: Maybe = None,
) -> Both:
    """Ternary scores, all values, `gpu_kernels.bernoulli_qk.api.bernoulli_qk_decode`."""
    return _both(ternary.bernoulli_qk_decode(
        q, k, v, seed=state, layer=layer, trials=trials, scale=scale, seq_lens=seq_lens,
        sm_scale=sm_scale, kv_layout=kv_layout, k_scale=k_scale, v_scale=v_scale, return_lse=True,
    ))


@torch.library.custom_op("santa::bernoulli_qk_flash_decode", mutates_args=())
def bernoulli_qk_flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: torch.Tensor, layer: int,
    trials: int, samples: int, tile: int, scale: str = "exact", offsets: str = "own",
    seq_lens: Maybe = None, sm_scale: float | None = None, kv_layout: str = "NHD",
    k_scale: Maybe = None, v_scale: Maybe = None,
) -> Both:
    """Ternary scores, Flash values, `gpu_kernels.bernoulli_qk.api.bernoulli_qk_flash_decode`."""
    return _both(ternary.bernoulli_qk_flash_decode(
        q, k, v, seed=state, layer=layer, trials=trials, samples=samples, tile=tile, scale=scale,
        offsets=offsets, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout,
        k_scale=k_scale, v_scale=v_scale, return_lse=True,
    ))


def _empty_answer(q: torch.Tensor, *_: Any, **__: Any) -> Both:
    """Return the shapes and formats of a result, for tracing without data."""
    return q.new_empty(q.shape), q.new_empty(q.shape[:2], dtype=torch.float32)


for _operator in (dense, s2anta_flash, s2anta_comb, s2anta_prop, bernoulli_qk, bernoulli_qk_flash):
    _operator.register_fake(_empty_answer)
