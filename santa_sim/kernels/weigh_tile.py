"""A register tile of weighted values, written in LLVM's own vectors: four heads share each load."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from santa_sim.kernels.stored import load_stored, row_pointer
from santa_sim.kernels.vectors import (
    DOUBLE,
    FUSED,
    HEADS,
    LANES,
    array_columns,
    array_row,
    pick_lanes,
    prefetch,
    up_to,
)

HALF = LANES // 2
"""float64 numbers in one vector."""


@intrinsic
def weigh_tile(  # type: ignore[no-untyped-def]
    typing_context, v, row, count, kv_head, ahead_bytes, weights, column, head, last_head, out
):
    """Add `count` weighted rows of one KV head to HEADS output rows, in float64 and in row order.

    out[head + g, j] += Σ_i weights[head + g, column + i]·v[row + i, kv_head, j] over the first
    ⌊d/LANES⌋·LANES columns j. v: `StoredView`; weights: float64 [H, ·]; out: float64 [H, d]. Heads
    beyond the last repeat it. ahead_bytes: how far ahead of each row to prefetch.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        v_type, w_type, out_type = signature.args[0], signature.args[5], signature.args[9]
        v, row, count, kv_head, ahead, weights, column, head, last_head, out = args
        element = v_type.types[0]
        size = element.bitwidth // 8
        index = row.type
        first = row_pointer(builder, v_type, v, row, kv_head)
        stride = cgutils.unpack_tuple(builder, v)[v_type.fields.index("row_bytes")]
        heads = up_to(builder, head, last_head, HEADS)
        of_head = [
            builder.gep(array_row(context, builder, w_type, weights, g),
                        [builder.mul(column, ir.Constant(index, 8))])
            for g in heads
        ]
        outputs = [array_row(context, builder, out_type, out, g) for g in heads]
        vector = ir.VectorType(DOUBLE, HALF)
        total_type = vector.as_pointer()
        vectors = builder.sdiv(
            array_columns(context, builder, out_type, out), ir.Constant(index, LANES)
        )
        with cgutils.for_range(builder, vectors, intp=index) as columns:
            places = [
                builder.bitcast(
                    builder.gep(start, [builder.add(
                        builder.mul(columns.index, ir.Constant(index, LANES * 8)),
                        ir.Constant(index, part * HALF * 8),
                    )]),
                    total_type,
                )
                for start in outputs for part in (0, 1)
            ]
            sums = [
                cgutils.alloca_once(builder, vector) for _ in places
            ]
            for place, total in zip(places, sums, strict=True):
                builder.store(builder.load(place, align=8), total)
            at = builder.gep(first, [builder.mul(columns.index, ir.Constant(index, LANES * size))])
            with cgutils.for_range(builder, count, intp=index) as rows:
                here = builder.gep(at, [builder.mul(rows.index, stride)])
                prefetch(builder, builder.gep(here, [ahead]))
                value = load_stored(builder, element, here, LANES)
                halves = [
                    builder.fpext(
                        pick_lanes(builder, value, value, range(part * HALF, (part + 1) * HALF)),
                        vector,
                    )
                    for part in (0, 1)
                ]
                offset = builder.mul(rows.index, ir.Constant(index, 8))
                for g in range(HEADS):
                    weight = builder.load(
                        builder.bitcast(builder.gep(of_head[g], [offset]), DOUBLE.as_pointer())
                    )
                    one = builder.insert_element(
                        ir.Constant(vector, ir.Undefined), weight, ir.Constant(ir.IntType(32), 0)
                    )
                    spread = pick_lanes(builder, one, one, [0] * HALF)
                    for part in (0, 1):
                        total = sums[2 * g + part]
                        product = builder.fmul(spread, halves[part], flags=FUSED)
                        builder.store(
                            builder.fadd(builder.load(total), product, flags=FUSED), total
                        )
            for place, total in zip(places, sums, strict=True):
                builder.store(builder.load(total), place, align=8)
        return context.get_dummy_value()

    i = types.intp
    return types.void(v, i, i, i, i, weights, i, i, i, out), codegen
