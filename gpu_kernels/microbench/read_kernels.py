"""Triton kernels that only read: tiles in sequence, rows by index, and one word after another."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["passes", "shift"])
def stream_kernel(source_ptr, out_ptr, rows, heads, head_stride, row_stride, passes, shift,
                  ROW_WORDS: tl.constexpr, BLOCK_ROWS: tl.constexpr, STAGES: tl.constexpr):
    """Add up all words of `heads` sequences of rows, `passes` times: out = Σ words per program.

    Grid (programs,), a multiple of heads: program p reads part p // heads of sequence p % heads;
    in each pass it moves on by `shift` parts, so that no other cache than L2 can serve it twice.
    source: int32; strides in words; out: int32 [programs].
    """
    program = tl.program_id(0)
    parts = tl.num_programs(0) // heads
    part = program // heads
    tiles = tl.cdiv(rows, BLOCK_ROWS)
    per_part = tl.cdiv(tiles, parts)
    source_ptr += (program % heads).to(tl.int64) * head_stride
    row = tl.arange(0, BLOCK_ROWS)
    word = tl.arange(0, ROW_WORDS)
    acc = tl.zeros([BLOCK_ROWS, ROW_WORDS], tl.int32)
    for index in tl.range(0, passes * per_part, num_stages=STAGES):
        tile = (part + index // per_part * shift) % parts * per_part + index % per_part
        address = source_ptr + tile.to(tl.int64) * BLOCK_ROWS * row_stride
        live = tile * BLOCK_ROWS + row < rows
        acc += tl.load(address + (row[:, None] * row_stride + word[None, :]), live[:, None],
                       other=0)
    tl.store(out_ptr + program, tl.sum(tl.sum(acc, 1), 0))


@triton.jit
def gather_kernel(source_ptr, index_ptr, out_ptr, count, heads, head_stride, row_stride,
                  ROW_WORDS: tl.constexpr, BLOCK_ROWS: tl.constexpr, STAGES: tl.constexpr):
    """Add up the words of the rows that index int32 [heads, count] names: out = Σ per program.

    Grid and layout as `stream_kernel`; a program takes neighbouring entries of its head's list.
    """
    program = tl.program_id(0)
    parts = tl.num_programs(0) // heads
    head = program % heads
    blocks = tl.cdiv(count, BLOCK_ROWS)
    per_part = tl.cdiv(blocks, parts)
    first = program // heads * per_part
    source_ptr += head.to(tl.int64) * head_stride
    index_ptr += head.to(tl.int64) * count
    word = tl.arange(0, ROW_WORDS)
    acc = tl.zeros([BLOCK_ROWS, ROW_WORDS], tl.int32)
    for block in tl.range(first, tl.minimum(first + per_part, blocks), num_stages=STAGES):
        place = block * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
        live = place < count
        row = tl.load(index_ptr + place, live, other=0).to(tl.int64)
        acc += tl.load(source_ptr + row[:, None] * row_stride + word[None, :], live[:, None],
                       other=0)
    tl.store(out_ptr + program, tl.sum(tl.sum(acc, 1), 0))


@triton.jit
def chase_kernel(next_ptr, out_ptr, step_words, steps):
    """Follow `steps` links from place 0, each read waiting for the one before.

    next: int32, place p·step_words holds the place after p. Grid (1,). out: int32 [1].
    """
    place = tl.load(next_ptr)
    for _ in range(1, steps):
        place = tl.load(next_ptr + place.to(tl.int64) * step_words)
    tl.store(out_ptr, place)
