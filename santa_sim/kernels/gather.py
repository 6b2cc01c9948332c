"""Sampled values: sums over the few rows that were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from santa_sim.kernels.drawn import Drawn
from santa_sim.kernels.stored import kernel_view, row_pointer, stored_at
from santa_sim.kernels.vectors import prefetch

_AHEAD = 8
"""Drawn rows that are on their way while one is added up: each is a miss to main memory."""

_LINE_BYTES = 64


def gather_rows(
    drawn: Drawn, tile: int, weights: NDArray[np.float64], v: NDArray[Any],
    out: NDArray[np.float64],
) -> None:
    """Write out[g] = Σ_t weights[g, t] · Σ_{i in tile t} counts[g, i]·v[i], in float64.

    drawn: of G heads; tile: rows per tile; weights: float64 [G, T]; v: stored [n, d], any row
    stride; out: float64 [G, d].
    """
    _gather(drawn.indptr, drawn.rows, drawn.counts, tile, weights, kernel_view(v), out)


@intrinsic
def _prefetch_row(typing_context: Any, v: Any, row: Any, columns: Any) -> Any:
    """Ask for all cache lines of one row of a `StoredView` of one KV head."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        v_type = signature.args[0]
        view, row, columns = args
        start = row_pointer(builder, v_type, view, row, ir.Constant(row.type, 0))
        size = ir.Constant(row.type, v_type.types[0].bitwidth // 8)
        step = ir.Constant(row.type, _LINE_BYTES)
        with cgutils.for_range_slice(
            builder, ir.Constant(row.type, 0), builder.mul(columns, size), step, inc=True
        ) as (at, _):
            prefetch(builder, builder.gep(start, [at]))
        return context.get_dummy_value()

    return types.void(v, types.intp, types.intp), codegen


@njit(cache=True, nogil=True)
def _gather(indptr, rows, counts, tile, weights, v, out):  # type: ignore[no-untyped-def]
    d = out.shape[1]
    part = np.empty(d, np.float64)
    for k in range(min(_AHEAD, rows.shape[0])):
        _prefetch_row(v, rows[k], d)
    for g in range(out.shape[0]):
        out[g, :] = 0.0
        k, end = indptr[g], indptr[g + 1]
        while k < end:
            t = rows[k] // tile
            beyond = (t + 1) * tile
            part[:] = 0.0
            while k < end and rows[k] < beyond:
                if k + _AHEAD < rows.shape[0]:
                    _prefetch_row(v, rows[k + _AHEAD], d)
                times = np.float64(counts[k])
                for j in range(np.uint64(d)):
                    part[j] += times * np.float64(stored_at(v, rows[k], 0, j))
                k += 1
            for j in range(np.uint64(d)):
                out[g, j] += weights[g, t] * part[j]
