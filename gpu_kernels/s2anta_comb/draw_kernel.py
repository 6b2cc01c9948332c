"""Second pass of `s2anta_comb`: the comb's teeth find their rows, and the rows are averaged."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import (
    INTERPRETED,
    as_float32,
    head_base,
    row_offsets,
    sequence_length,
)
from gpu_kernels.random_offsets import step_and_layer, uniform_offsets
from gpu_kernels.s2anta_comb.plan import SPAN
from gpu_kernels.s2anta_comb.score_kernel import BLOCK_KEYS

SPAN_TILES = tl.constexpr(SPAN)


@triton.jit
def first_reached(mass, level, COUNT: tl.constexpr):
    """Return (index, mass ahead of it) of the first entry whose running mass reaches `level`.

    mass: float32 [teeth, COUNT] >= 0; level: float32 [teeth] > 0; a level that rounding put past
    the end counts as the end. A parallel prefix sum can fall by a rounding error: entries of
    mass 0 must not profit, so they never are the answer.
    """
    running = tl.where(mass > 0, tl.cumsum(mass, 1), 0.0)
    level = tl.minimum(level, tl.max(running, 1))
    reached = running >= level[:, None]
    index = tl.min(tl.where(reached, tl.arange(0, COUNT)[None, :], COUNT - 1), 1)
    ahead = tl.max(tl.where(reached, 0.0, running), 1)
    return index, ahead


@triton.jit
def larger(a, b):
    """Return the larger of two numbers: the step of a running maximum."""
    return tl.maximum(a, b)


@triton.jit
def running_masses(masses, before):
    """Return the running sum of a chunk, made to never fall, and where the next chunk starts.

    A parallel prefix sum can fall or rise by a rounding error; entries of mass 0 repeat their
    predecessor, so that no level is first reached there.
    """
    running = tl.where(masses > 0, before + tl.cumsum(masses, 0), before)
    running = tl.associative_scan(running, 0, larger)
    return running, tl.max(running, 0)


@triton.jit
def count_below(running, level, before, AXIS: tl.constexpr):
    """Return (how many running masses lie below `level`, the largest of them or `before`)."""
    below = running < level
    return tl.sum(below.to(tl.int32), AXIS), tl.maximum(before, tl.max(
        tl.where(below, running, 0.0), AXIS))


@triton.jit
def sum_of_rows(v, drawn):
    """Return Σ v over the drawn rows, float32 [d]; 16-bit rows are added by the tensor cores.

    v: [draws, d], zeros where not drawn. Products with 1 are exact, sums are float32.
    """
    if v.dtype == tl.float32:
        total = tl.sum(v, 0)
    else:
        if v.dtype.primitive_bitwidth == 8:  # float8, or its bytes; exact in float16
            v = as_float32(v).to(tl.float16)
        if INTERPRETED:
            v = v.to(tl.float32)
        one = (tl.arange(0, 16)[:, None] == 0) & drawn[None, :]
        total = tl.sum(tl.dot(one.to(v.dtype), v, input_precision="ieee"), 0)
    return total


@triton.jit
def draw_kernel(
    v_ptr, lens_ptr, indptr_ptr, indices_ptr, v_scale_ptr, state_ptr,
    stash_ptr, block_mass_ptr, tile_mass_ptr, tile_max_ptr, running_ptr,
    out_ptr, lse_ptr, rows_ptr,
    capacity, group, v_stride_0, v_stride_h, tiles_per_head, stash_unit, samples, layer,
    V_STRIDE_N: tl.constexpr,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, PAGE_SIZE: tl.constexpr,
    BLOCK_N: tl.constexpr, TEETH: tl.constexpr, SPANS: tl.constexpr, CHUNK: tl.constexpr,
    SHARED: tl.constexpr, PDL: tl.constexpr,
):
    """Add up the drawn rows: out_p = (1/S) Σ_k v[row of tooth k] over part p's TEETH teeth.

    Tooth k draws the row whose running mass first reaches (k + 1 − a)/S of the total. The program
    first adds up the tiles' masses into running: float32 [B·H, parts, T]. Teeth find their span of
    16 tiles, in it their tile, in it their block of 16 keys, in it their row: four short searches
    instead of one through all keys. Grid (parts, H, B). out: float32 or q's dtype
    [B·H, parts, d]; lse: float32 [B·H] or None; rows: int32 [B·H, S] or None; the rest as
    `score_kernel` wrote it.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    part, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    parts, heads = tl.num_programs(0), tl.num_programs(1)
    kv_head = head // group
    flat_head = (batch * heads + head).to(tl.int64)
    length = sequence_length(lens_ptr, indptr_ptr, batch, capacity, PAGE_SIZE)
    tiles = tl.cdiv(length, BLOCK_N)
    # the last span may be cut short: whoever passes all whole ones lies in it
    spans = tiles // SPAN_TILES
    stash_ptr += flat_head * tiles_per_head * BLOCK_N
    block_mass_ptr += flat_head * tiles_per_head * (BLOCK_N // BLOCK_KEYS)
    tile_mass_ptr += flat_head * tiles_per_head
    tile_max_ptr += flat_head * tiles_per_head
    running_ptr += (flat_head * parts + part) * tiles_per_head
    dims = tl.arange(0, BLOCK_D)
    out_ptr += (flat_head * parts + part) * HEAD_DIM + dims

    chunk = tl.arange(0, CHUNK)
    top = float("-inf")
    for start in range(0, tiles, CHUNK):
        inside = start + chunk < tiles
        peaks = tl.load(tile_max_ptr + start + chunk, inside, other=float("-inf"))
        top = tl.maximum(top, tl.max(peaks, 0))
    total = 0.0
    for start in range(0, tiles, CHUNK):
        inside = start + chunk < tiles
        masses = tl.load(tile_mass_ptr + start + chunk, inside, other=0.0)
        peaks = tl.load(tile_max_ptr + start + chunk, inside, other=float("-inf"))
        masses = tl.where(masses > 0, masses * tl.exp2(peaks - top), 0.0)
        running, total = running_masses(masses, total)
        tl.store(running_ptr + start + chunk, running, inside)
    # other threads of the program read what this one stored
    tl.debug_barrier()
    if lse_ptr is not None:  # noqa: SIM102 - known when compiling; the part is not
        if part == 0:
            log_sum = top + tl.log2(tl.where(total > 0, total, 1.0) / stash_unit)
            tl.store(lse_ptr + flat_head, tl.where(total > 0, log_sum, float("-inf")))
    if total == 0:
        tl.store(out_ptr, tl.zeros([BLOCK_D], tl.float32), dims < HEAD_DIM)
        return

    stream = head
    if SHARED:
        stream = kv_head
    offset = uniform_offsets(tl.load(state_ptr), step_and_layer(state_ptr, layer), batch, stream,
                             head * 0)
    v_base = head_base(v_ptr, batch, kv_head, v_stride_0, v_stride_h, PAGE_SIZE)
    teeth = part * TEETH + tl.arange(0, TEETH)
    drawn = teeth < samples
    level = tl.minimum((teeth + 1 - offset) / samples, 1.0) * total
    span = tl.zeros([TEETH], tl.int32)
    ahead = tl.zeros([TEETH], tl.float32)
    for start in range(0, spans, SPANS):
        edge = (start + tl.arange(0, SPANS)) * SPAN_TILES + SPAN_TILES - 1
        running = tl.load(running_ptr + edge, edge < tiles, other=float("inf"))
        # teeth along the threads: each compares with all spans by itself
        passed, ahead = count_below(running[:, None], level[None, :], ahead, 0)
        span += passed
    tile = span[:, None] * SPAN_TILES + tl.arange(0, SPAN_TILES)[None, :]
    running = tl.load(running_ptr + tile, drawn[:, None] & (tile < tiles), other=float("inf"))
    passed, ahead = count_below(running, level[:, None], ahead, 1)
    tile = span * SPAN_TILES + passed
    level -= ahead
    peak = tl.load(tile_max_ptr + tile, drawn, other=0.0)
    # teeth lie above 2^-48 of the total, so no tile further below than that is drawn
    level *= tl.exp2(tl.minimum(top - peak, 64.0))
    block = tl.arange(0, BLOCK_N // BLOCK_KEYS)
    masses = tl.load(block_mass_ptr + tile[:, None] * (BLOCK_N // BLOCK_KEYS) + block[None, :],
                     drawn[:, None], other=1.0)
    in_tile, ahead = first_reached(masses, level, BLOCK_N // BLOCK_KEYS)
    first_key = tile * BLOCK_N + in_tile * BLOCK_KEYS
    stashed = tl.load(stash_ptr + first_key[:, None] + tl.arange(0, BLOCK_KEYS)[None, :],
                      drawn[:, None], other=1.0)
    in_block, _ = first_reached(stashed.to(tl.float32), level - ahead, BLOCK_KEYS)
    row = first_key + in_block
    offsets = row_offsets(row, drawn, indptr_ptr, indices_ptr, batch, v_stride_0, V_STRIDE_N,
                          PAGE_SIZE)
    v = tl.load(v_base + offsets[:, None] + dims[None, :],
                drawn[:, None] & (dims < HEAD_DIM)[None, :], other=0.0)
    if rows_ptr is not None:
        tl.store(rows_ptr + flat_head * samples + teeth, row, drawn)
    scale = 1.0 / samples
    if v_scale_ptr is not None:
        scale *= tl.load(v_scale_ptr + kv_head)
    tl.store(out_ptr, sum_of_rows(v, drawn) * scale, dims < HEAD_DIM)


@triton.jit
def add_parts_kernel(part_ptr, out_ptr, parts, HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr,
                     BLOCK_P: tl.constexpr, PDL: tl.constexpr):
    """Add up the parts: out = Σ_p part_p, BLOCK_P of them at a time.

    part: float32 [B·H, parts, d]; out: [B·H, d]. Grid (B·H,).
    """
    if PDL:
        tl.extra.cuda.gdc_wait()
    head = tl.program_id(0).to(tl.int64)
    dims = tl.arange(0, BLOCK_D)
    acc = tl.zeros([BLOCK_D], tl.float32)
    for first in range(0, parts, BLOCK_P):
        part = first + tl.arange(0, BLOCK_P)
        acc += tl.sum(tl.load(part_ptr + (head * parts + part)[:, None] * HEAD_DIM + dims[None, :],
                              (part < parts)[:, None] & (dims < HEAD_DIM)[None, :], other=0.0), 0)
    tl.store(out_ptr + head * HEAD_DIM + dims, acc, dims < HEAD_DIM)
