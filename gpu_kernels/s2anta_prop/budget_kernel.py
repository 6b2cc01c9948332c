"""Second pass of `s2anta_prop`: S draws split over any number of tiles by largest remainder."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import sequence_length

BITS = 24
"""Bits of a remainder that are compared: as many as a tile's mass has."""
REMAINDER_BITS = tl.constexpr(BITS)
WHOLE = tl.constexpr(2**BITS)


@triton.jit
def budget_kernel(
    lens_ptr, indptr_ptr, tile_mass_ptr, tile_max_ptr, start_ptr, lse_ptr,
    capacity, tiles_per_head, starts_per_head, stash_unit, samples,
    TILE: tl.constexpr, PAGE_SIZE: tl.constexpr, BLOCK_T: tl.constexpr, PDL: tl.constexpr,
):
    """Store the first draw of every tile of one query head: running sums of the budgets.

    quota_t = S·P_t; budget ⌊quota_t⌋, plus one for the largest remainders, earlier tiles first
    where they are equal, until Σ S_t = S. A tile without mass gets nothing. The smallest
    remainder that still gets one is found bit by bit, by counting, so nothing is sorted.
    Grid (H, B). start: int32 [B·H, starts_per_head > T], entry T being Σ S_t (0 without mass);
    lse: float32 [B·H] or None, log2 of the softmax's sum; BLOCK_T >= T.
    Source: SANTA, arXiv 2605.01910, section 3.4, for any T.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    flat_head = (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)).to(tl.int64)
    length = sequence_length(lens_ptr, indptr_ptr, tl.program_id(1), capacity, PAGE_SIZE)
    tiles = tl.cdiv(length, TILE)
    tile = tl.arange(0, BLOCK_T)
    place = flat_head * tiles_per_head + tile
    peak = tl.load(tile_max_ptr + place, tile < tiles, other=float("-inf"))
    mass = tl.load(tile_mass_ptr + place, tile < tiles, other=0.0)
    top = tl.max(peak, 0)
    shift = tl.where(top == float("-inf"), 0.0, top)
    mass = tl.where(mass > 0, mass * tl.exp2(peak - shift), 0.0).to(tl.float64)
    total = tl.sum(mass, 0)
    if lse_ptr is not None:
        some = tl.where(total > 0, total, 1.0).to(tl.float32)
        log_sum = top + tl.log2(some / stash_unit)
        tl.store(lse_ptr + flat_head, tl.where(total > 0, log_sum, float("-inf")))

    # float64: the floors of rounded-up quotas must not add up to more than S
    quota = samples * (mass / tl.where(total > 0, total, 1.0))
    budget = quota.to(tl.int32)
    remainder = ((quota - budget) * WHOLE).to(tl.int32)
    remainder = tl.where(mass > 0, remainder, -1)
    left = tl.where(total > 0, samples - tl.sum(budget, 0), 0)
    least = left * 0
    bit = least + WHOLE
    for _ in range(REMAINDER_BITS):
        bit = bit >> 1
        higher = least | bit
        enough = tl.sum((remainder >= higher).to(tl.int32), 0) >= left
        least = tl.where(enough, higher, least)
    above = (remainder > least).to(tl.int32)
    level = (remainder == least).to(tl.int32)
    rest = left - tl.sum(above, 0)
    budget += above + tl.where((level > 0) & (tl.cumsum(level, 0) <= rest), 1, 0)
    start_ptr += flat_head * starts_per_head
    tl.store(start_ptr + tile, tl.cumsum(budget, 0) - budget, tile < tiles)
    tl.store(start_ptr + tiles, tl.sum(budget, 0))
