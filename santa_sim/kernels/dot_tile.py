"""A register tile of scores, written in LLVM's own vectors: four heads share each load of a key.

Numba's loops cannot say "keep these sums in registers", and one horizontal sum per score would
cost more than its products. Every score is summed in the same order wherever its key lies in a
tile, so it depends neither on n nor on batch, strides or alignment.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from santa_sim.kernels.stored import load_stored, row_pointer
from santa_sim.kernels.vectors import (
    FUSED,
    HEADS,
    LANES,
    MOST_KEYS,
    SINGLE,
    array_columns,
    array_row,
    pick_lanes,
    prefetch,
    sum_each,
    up_to,
    zeros,
)

TILE_BYTES = 8
"""Keys per tile times bytes per element: two pages of an 8-head, 128-wide cache. More pages at
once cost the hardware prefetcher more than a wider tile gains."""


@intrinsic
def dot_tile(  # type: ignore[no-untyped-def]
    typing_context, k, row, last_row, kv_head, ahead_bytes, q, head, last_head, out, column
):
    """Write the inner products of HEADS query rows with a few keys.

    There are min(TILE_BYTES / item_bytes, MOST_KEYS) of them.
    out[head + g, column + i] = Σ_j q[head + g, j]·k[row + i, kv_head, j] over the first
    ⌊d/LANES⌋·LANES columns j. k: `StoredView`; q: float32 [H, d]; out: float32 [H, ·], with room
    for a whole tile. Rows and heads beyond the last repeat it. ahead_bytes: how far ahead of each
    key to prefetch.
    """
    item_bytes = k.types[0].bitwidth // 8
    keys = min(TILE_BYTES // item_bytes, MOST_KEYS)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        k_type, q_type, out_type = signature.args[0], signature.args[5], signature.args[8]
        k, row, last_row, kv_head, ahead, q, head, last_head, out, column = args
        element = k_type.types[0]
        heads = up_to(builder, head, last_head, HEADS)
        queries = [array_row(context, builder, q_type, q, g) for g in heads]
        rows = [
            row_pointer(builder, k_type, k, i, kv_head)
            for i in up_to(builder, row, last_row, keys)
        ]
        zero = zeros(SINGLE, LANES)
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in rows] for _ in heads]

        # the first line of each row is fetched from twice as far, for its page's translation
        far = builder.mul(ahead, ir.Constant(row.type, 2))
        for start in rows:
            prefetch(builder, builder.gep(start, [far]))
        columns = array_columns(context, builder, q_type, q)
        vectors = builder.sdiv(columns, ir.Constant(row.type, LANES))
        with cgutils.for_range(builder, vectors, intp=row.type) as loop:
            q_at = builder.mul(loop.index, ir.Constant(row.type, LANES * 4))
            k_at = builder.mul(loop.index, ir.Constant(row.type, LANES * item_bytes))
            shared = [load_stored(builder, types.float32, builder.gep(p, [q_at]), LANES)
                      for p in queries]
            for i, start in enumerate(rows):
                here = builder.gep(start, [k_at])
                prefetch(builder, builder.gep(here, [ahead]))
                key = load_stored(builder, element, here, LANES)
                for g in range(HEADS):
                    product = builder.fmul(key, shared[g], flags=FUSED)
                    total = builder.fadd(builder.load(sums[g][i]), product, flags=FUSED)
                    builder.store(total, sums[g][i])
        flat = [builder.load(total) for of_head in sums for total in of_head]
        result = sum_each(builder, flat)
        at = builder.mul(column, ir.Constant(column.type, 4))
        for g in range(HEADS):
            lanes = [(g * keys + i) * LANES // len(flat) for i in range(keys)]
            part = pick_lanes(builder, result, result, lanes)
            start = array_row(context, builder, out_type, out, heads[g])
            place = builder.bitcast(builder.gep(start, [at]), part.type.as_pointer())
            builder.store(part, place, align=4)
        return context.get_dummy_value()

    index = types.intp
    return types.void(k, index, index, index, index, q, index, index, out, index), codegen
