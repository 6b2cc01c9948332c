"""The decode calls of a bench: from its configuration, or from a row that it wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpu_kernels.calibration.rows import Row
from gpu_kernels.decode_sizes import Sizes
from gpu_kernels.launches.call import ITEMSIZE, DecodeCall, Kernel
from gpu_kernels.launches.expected_rows import expected_features, expected_rows
from gpu_kernels.s2anta_comb.plan import DEFAULT_TILE as COMB_TILE
from gpu_kernels.s2anta_flash.plan import DEFAULT_TILE

if TYPE_CHECKING:
    from gpu_kernels.bench.config import BenchConfig


def config_calls(config: BenchConfig) -> Iterator[DecodeCall]:
    """Yield the calls of our kernels that a configuration makes, inputs aside, each once."""
    seen = set()
    for part in config.parts():
        g = part.geometry
        dtype = g.kv_dtype or g.dtype
        for size in part.sizes:
            sizes = Sizes(size.batch, size.context, g.num_qo_heads, g.num_kv_heads, g.head_dim,
                          ITEMSIZE[dtype])
            for kernel in part.kernels:
                samples = tile = 0
                if kernel.keys_per_sample is not None:
                    samples = max(1, size.context // kernel.keys_per_sample)
                    tile = kernel.tile or (COMB_TILE if kernel.name == "s2anta_comb"
                                           else DEFAULT_TILE)
                call = DecodeCall(kernel.name, sizes, dtype, g.dtype, samples, tile,
                                  kernel.trials or 0)
                if call not in seen:
                    seen.add(call)
                    yield call


def row_call(row: Row, capture: Path) -> DecodeCall:
    """Return the call of a row that the bench wrote, with the rows that it is expected to read.

    capture: npz behind rows on captured attention. Raises `SpecError` for a row without shapes.
    """
    dtype = row.text("dtype")
    sizes = Sizes(row.count("batch"), row.count("context"), row.count("num_qo_heads"),
                  row.count("num_kv_heads"), row.count("head_dim"), ITEMSIZE[dtype])
    name = row.text("kernel")
    sampled = name not in ("dense", "bernoulli_qk")
    call = DecodeCall(
        cast("Kernel", name), sizes, dtype,
        # float8 caches are timed with bfloat16 queries
        "bfloat16" if dtype == "float8_e4m3fn" else dtype,
        row.count("samples") if sampled else 0, row.count("tile"), row.count("trials"),
    )
    rows = expected_rows(call, row.text("inputs"), row.text("offsets"), capture)
    return replace(call, unique_rows=rows, features=expected_features(call))
