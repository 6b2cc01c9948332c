"""What one point of a microbenchmark is: its parameters, and the call that is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from gpu_kernels.microbench.lab import Lab


@dataclass(frozen=True)
class Setting:
    """The parameters of a point; a parameter that a kernel does not have is None, blank in files.

    experiment, kernel, op: what is run; data: `normal` bf16 numbers or `zeros`.
    l2: `cold`, emptied before each call; `warm`, as the call before left it; `steady`, calls one
    after the other for seconds.
    programs, num_warps, stages: of the launch; tile_bytes: read by a program at a time; of
    that, max(1, stages − 1) tiles are in flight, with stages = 1 through registers.
    row_bytes, row_stride_bytes, heads: layout, rows of one head being a stride apart; density:
    share of the rows that is read; order: `sorted`, `shuffled`, or `strata` (one row from each
    window of 1/density rows, in order).
    passes: how often everything is read; block_n, columns, samples: keys, query columns and
    samples per column of a tile; iterations: of the operation per program; launches: kernels per
    call; dependent: whether their launches overlap; splits: parts that a merge reads.
    read_bytes: distinct bytes read; loaded_bytes: with repetition, all pass through L2;
    write_bytes: written.
    """

    experiment: str
    kernel: str
    l2: Literal["cold", "warm", "steady"]
    op: str | None = None
    data: str | None = None
    programs: int | None = None
    num_warps: int | None = None
    stages: int | None = None
    tile_bytes: int | None = None
    row_bytes: int | None = None
    row_stride_bytes: int | None = None
    heads: int | None = None
    density: float | None = None
    order: str | None = None
    passes: int | None = None
    block_n: int | None = None
    columns: int | None = None
    samples: int | None = None
    iterations: int | None = None
    launches: int | None = None
    dependent: int | None = None
    splits: int | None = None
    read_bytes: int | None = None
    loaded_bytes: int | None = None
    write_bytes: int | None = None

    def as_text(self) -> dict[str, str]:
        """Return the parameters as a file has them; two points are the same if these are."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: "" if value is None else str(value) for name, value in values.items()}


@dataclass(frozen=True)
class Probe:
    """One point to measure.

    make: allocates what the call needs and returns the call, which returns a compiled kernel
    where there is one. energy: measured over seconds, with the board's counters.
    """

    setting: Setting
    make: Callable[[Lab], Callable[[], Any]]
    energy: bool = False
