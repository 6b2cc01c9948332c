"""Keeping the scores of a tile as weights below its own maximum, for a later pass that draws."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from gpu_kernels.requirement import require
from gpu_kernels.stash_plan import BLOCK

if TYPE_CHECKING:
    import torch

STASHES = ("float16", "float32")
BLOCK_KEYS = tl.constexpr(BLOCK)

@triton.jit
def stash_tiles(
    s, first, mine, flat_head, stash_ptr, block_mass_ptr, tile_mass_ptr, tile_max_ptr,
    tiles_per_head, stash_unit,
    TILE: tl.constexpr, BLOCK_N: tl.constexpr, COLUMNS: tl.constexpr,
):
    """Store u_i = round(unit·2^(s_i − m_t)), their sums and m_t for BLOCK_N/TILE whole tiles.

    s: float32 [BLOCK_N, COLUMNS], −inf where there is no key; first: the block's first key;
    mine: which columns are heads; flat_head: int64 [COLUMNS], batch·H + head.
    stash: float16 or float32 [B·H, T·TILE]; block_mass: float32 [B·H, T·TILE/16], sums over 16
    keys; tile_mass, tile_max: float32 [B·H, T]; T = tiles_per_head, a multiple of BLOCK_N/TILE;
    unit: what a tile's largest weight becomes.
    """
    s = tl.reshape(s, [BLOCK_N // TILE, TILE, COLUMNS])
    top = tl.max(s, 1)
    shift = tl.where(top == float("-inf"), 0.0, top)
    u = (tl.exp2(s - shift[:, None, :]) * stash_unit).to(stash_ptr.dtype.element_ty)
    member = tl.arange(0, BLOCK_N // TILE)
    place = flat_head[None, :] * tiles_per_head + (first // TILE + member)[:, None]
    key = tl.arange(0, TILE)[None, :, None]
    tl.store(stash_ptr + place[:, None, :] * TILE + key, u, mine[None, None, :])
    u = tl.reshape(u.to(tl.float32), [BLOCK_N // TILE, TILE // BLOCK_KEYS, BLOCK_KEYS, COLUMNS])
    sums = tl.sum(u, 2)
    block = tl.arange(0, TILE // BLOCK_KEYS)[None, :, None]
    tl.store(block_mass_ptr + place[:, None, :] * (TILE // BLOCK_KEYS) + block, sums,
             mine[None, None, :])
    tl.store(tile_mass_ptr + place, tl.sum(sums, 1), mine[None, :])
    tl.store(tile_max_ptr + place, top, mine[None, :])


def stash_unit(stash: str) -> float:
    """Return the largest weight of a tile as stashed; raises `ValueError` for an unknown format.

    In float16 it is 2^15, half of the range, so that 2^-39 of it still counts.
    """
    require(stash in STASHES, "stash", f"one of {', '.join(STASHES)}", repr(stash))
    return 32768.0 if stash == "float16" else 1.0


def stash_shapes(
    heads: int, tiles: int, tile: int, stash: str
) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Return (shape, dtype) of stash, block_mass, tile_mass and tile_max; heads: B·H."""
    import torch

    return [
        ((heads, tiles * tile), getattr(torch, stash)),
        ((heads, tiles * tile // BLOCK), torch.float32),
        ((heads, tiles), torch.float32),
        ((heads, tiles), torch.float32),
    ]
