"""Triton kernels of arithmetic: one operation on registers, and the steps of a tile of keys."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.cache_rows import as_operand


@triton.jit
def arithmetic_kernel(keys_ptr, queries_ptr, out_ptr, iterations, OP: tl.constexpr,
                      BLOCK_N: tl.constexpr, COLUMNS: tl.constexpr, HEAD_DIM: tl.constexpr):
    """Repeat one operation on a [BLOCK_N, COLUMNS] tile; out: float32 [programs, COLUMNS].

    fma: x·0.5 + 1. exp: 2^(−x). max: x − (column maximum)/2. scan: running column sums modulo 256.
    compare: level + (entries below level) modulo 2. dot: x + keys·queries with keys
    [BLOCK_N, HEAD_DIM] and queries [HEAD_DIM, COLUMNS]. Start: x = the first COLUMNS numbers of
    each key, scan and compare: truncate(8·x), level = 3; out is the column's sum (compare: level).
    fma and exp come to rest, and their numbers switch nothing more; two maps of (0, 1) never do:
    logistic: 3.9·(x − x²). ricker: x·2^(4.5·(1 − x)). Their start: the fraction of abs(x).
    """
    row = tl.arange(0, BLOCK_N)[:, None]
    column = tl.arange(0, COLUMNS)
    # read, because a start that the compiler knows lets it leave work out
    x = tl.load(keys_ptr + row * HEAD_DIM + column[None, :]).to(tl.float32)
    start = (8.0 * x).to(tl.int32)
    if OP == "dot":
        dims = tl.arange(0, HEAD_DIM)
        k = as_operand(tl.load(keys_ptr + row * HEAD_DIM + dims[None, :]), queries_ptr)
        q = as_operand(tl.load(queries_ptr + dims[:, None] * COLUMNS + column[None, :]),
                       queries_ptr)
        for _ in range(iterations):
            x = tl.dot(k, q, x, input_precision="ieee")
    elif OP == "scan":
        for _ in range(iterations):
            start = tl.cumsum(start, 0) & 255
        x = start.to(tl.float32)
    elif OP == "compare":
        level = tl.zeros([COLUMNS], tl.int32) + 3
        for _ in range(iterations):
            level += tl.sum((start < level[None, :]).to(tl.int32), 0) & 1
        x = tl.where(row == 0, level[None, :].to(tl.float32), 0.0)
    elif OP == "max":
        for _ in range(iterations):
            x -= 0.5 * tl.max(x, 0)[None, :]
    elif OP == "exp":
        for _ in range(iterations):
            x = tl.exp2(-x)
    elif OP == "logistic" or OP == "ricker":
        x = tl.abs(x) - tl.floor(tl.abs(x))
        for _ in range(iterations):
            x = 3.9 * (x - x * x) if OP == "logistic" else x * tl.exp2(4.5 - 4.5 * x)
    else:
        for _ in range(iterations):
            x = x * 0.5 + 1.0
    tl.store(out_ptr + tl.program_id(0) * COLUMNS + column, tl.sum(x, 0))


@triton.jit(do_not_specialize=["passes", "shift"])
def tile_kernel(keys_ptr, queries_ptr, out_ptr, rows, passes, shift, STEP: tl.constexpr,
                BLOCK_N: tl.constexpr, COLUMNS: tl.constexpr, SAMPLES: tl.constexpr,
                HEAD_DIM: tl.constexpr, STAGES: tl.constexpr):
    """Read tiles of keys as `stream_kernel` does and take the first STEP steps with each.

    1: s = keys·queries. 2: u = 2^(s − column maximum) and its sum. 3: running sums of u in units
    of 2^-20, per column and sample. 4: count those below half of the tile's sum.
    out: float32 [programs, 2, COLUMNS], sums over tiles: first Σ s for step 1, Σ u after it; then
    0 up to step 2, the largest running sum / 2^20 for step 3, the count for step 4.
    """
    program = tl.program_id(0)
    parts = tl.num_programs(0)
    per_part = tl.cdiv(tl.cdiv(rows, BLOCK_N), parts)
    key = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    column = tl.arange(0, COLUMNS)
    q = as_operand(tl.load(queries_ptr + dims[:, None] * COLUMNS + column[None, :]), queries_ptr)
    acc = tl.zeros([BLOCK_N, COLUMNS], tl.float32)
    total = tl.zeros([COLUMNS], tl.float32)
    counted = tl.zeros([COLUMNS, SAMPLES], tl.int32)
    for index in tl.range(0, passes * per_part, num_stages=STAGES):
        tile = (program + index // per_part * shift) % parts * per_part + index % per_part
        address = keys_ptr + tile.to(tl.int64) * BLOCK_N * HEAD_DIM
        live = tile * BLOCK_N + key < rows
        k = tl.load(address + (key[:, None] * HEAD_DIM + dims[None, :]), live[:, None], other=0.0)
        k = as_operand(k, queries_ptr)
        if STEP == 1:
            acc = tl.dot(k, q, acc, input_precision="ieee")
        else:
            s = tl.dot(k, q, input_precision="ieee")
            u = tl.where(live[:, None], tl.exp2(s - tl.max(s, 0)[None, :]), 0.0)
            mass = tl.sum(u, 0)
            total += mass
            if STEP > 2:
                whole = (u * 1048576.0).to(tl.int32)
                running = tl.cumsum(
                    tl.broadcast_to(whole[:, :, None], [BLOCK_N, COLUMNS, SAMPLES]), 0)
                if STEP == 3:
                    counted += tl.max(running, 0) >> 10
                else:
                    reach = (mass * 524288.0).to(tl.int32)
                    counted += tl.sum((running < reach[None, :, None]).to(tl.int32), 0)
    found = tl.max(counted, 1).to(tl.float32)
    if STEP == 1:
        total = tl.sum(acc, 0)
    elif STEP == 3:
        found *= 0.0009765625
    out_ptr += program * 2 * COLUMNS + column
    tl.store(out_ptr, total)
    tl.store(out_ptr + COLUMNS, found)
