"""A decode call without its tensors, and one kernel that it launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpu_kernels.compiled_counts.table import Variant, variant_text
from gpu_kernels.decode_sizes import Sizes
from gpu_kernels.split_plan import next_power_of_two
from hw_models.gpu.launch import Start

ITEMSIZE = {"bfloat16": 2, "float16": 2, "float32": 4, "float8_e4m3fn": 1}
Kernel = Literal["dense", "s2anta_flash", "s2anta_comb", "s2anta_prop", "bernoulli_qk",
                 "bernoulli_qk_flash"]
STASH_BYTES = 2
"""Of a weight that waits for a later pass: float16, the kernels' default."""
MASS_BYTES = 4
"""Of every mass, maximum, running sum and start, and of a number of a partial result."""
MEMORY_ATOM = 64
"""Bytes that HBM delivers at a time: two sectors of the L2."""
LINE = 128


@dataclass(frozen=True)
class Work:
    """What a pass asks of the GPU, all programs together.

    read_bytes: from main memory in long runs, if no cache has them. gather_bytes, gather_lines,
    gather_rows: rows by index. handed_bytes: what the passes before it wrote. repeated_bytes: read
    again soon after they were read first. written_bytes: by this pass.
    tile_bytes, tiles_in_flight: what a program requests at a time, and how many such requests wait.
    iterations, branches: of a program's main loop. rounds: to L2, each waiting for the one before,
    ahead of the pass's last reads.
    """

    read_bytes: float = 0.0
    gather_bytes: float = 0.0
    gather_lines: float = 0.0
    gather_rows: float = 0.0
    handed_bytes: float = 0.0
    repeated_bytes: float = 0.0
    written_bytes: float = 0.0
    tile_bytes: float = 0.0
    tiles_in_flight: int = 1
    iterations: float = 0.0
    branches: float = 0.0
    rounds: int = 0


@dataclass(frozen=True)
class DecodeCall:
    """Shapes and facts of one call.

    sizes: of the step; dtype: of the caches. query_dtype: of q and out.
    samples, tile, trials: 0 where the kernel has none.
    unique_rows: value rows read at least once, summed over KV heads and sequences; features: key
    features that some query head touches, likewise (`bernoulli_qk`).
    """

    kernel: Kernel
    sizes: Sizes
    dtype: str
    query_dtype: str
    samples: int = 0
    tile: int = 0
    trials: int = 0
    unique_rows: float = 0.0
    features: float = 0.0

    @property
    def heads(self) -> int:
        """Query heads of all sequences, B·H."""
        return self.sizes.batch * self.sizes.num_qo_heads

    @property
    def keys(self) -> int:
        """Keys of all KV heads and sequences, B·KVH·n."""
        return self.sizes.batch * self.sizes.num_kv_heads * self.sizes.context

    @property
    def query_bytes(self) -> int:
        """Bytes of q, and of out."""
        return self.heads * self.sizes.head_dim * ITEMSIZE[self.query_dtype]

    def gathered(self, draws: float) -> Work:
        """Return the work of reading the rows that all heads draw, `draws` in all.

        A row that another draw has read comes from L2.
        """
        row = self.sizes.row_bytes
        unique = min(self.unique_rows, draws)
        return Work(gather_bytes=unique * row, gather_lines=unique * -(-row // LINE),
                    gather_rows=unique, repeated_bytes=(draws - unique) * row)


@dataclass(frozen=True)
class Pass:
    """One kernel of a call: how it is launched and what it does.

    kernel: module below `gpu_kernels` and name. arguments: compile-time ones.
    """

    kernel: str
    grid: tuple[int, int, int]
    arguments: Mapping[str, object]
    num_warps: int
    num_stages: int
    start: Start
    work: Work = field(default_factory=Work)

    @property
    def variant(self) -> Variant:
        """What the kernel is compiled for."""
        return Variant(self.kernel, variant_text(self.arguments), self.num_warps, self.num_stages)

    @property
    def filled(self) -> float:
        """Share of its products' rows or columns that hold query heads; the others are zeros."""
        wide = self.arguments.get("COLUMNS", self.arguments.get("ROWS", 0))
        heads = self.arguments.get("HEADS", 0)
        return heads / wide if isinstance(heads, int) and isinstance(wide, int) and wide else 1.0

    @property
    def programs(self) -> int:
        """Programs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


def row_arguments(call: DecodeCall) -> dict[str, object]:
    """Return the compile-time arguments of every kernel that reads rows of a cache."""
    dim = call.sizes.head_dim
    return {"cache": call.dtype, "HEAD_DIM": dim, "BLOCK_D": next_power_of_two(dim)}
