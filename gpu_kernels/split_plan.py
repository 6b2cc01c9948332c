"""How a kernel is cut into programs: by rule, from shapes and the device.

A sequence is split the same way alone and in a batch, so its result is bitwise the same in both:
splits come from the context and the device alone. How many of them one program reads, one after
the other, also depends on the batch, so that all programs run at once. Results are added first
within groups of `GROUP` neighbouring splits, then within spans of `SPAN`, then over spans: a
program that reads whole groups or spans adds their splits itself and writes less, in the same order
and so with the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

MAX_HEADS_PER_PROGRAM = 16
"""Rows of one tensor-core operand; larger groups are cut into blocks of this many heads."""
MIN_COLUMNS = 8
"""Least number of query columns of one tensor-core product with keys as rows."""
GROUP = 4
"""Neighbouring splits whose results are added before any others."""
SPAN = GROUP * GROUP
"""Neighbouring splits whose groups are added next."""


@dataclass(frozen=True)
class DeviceLimits:
    """What the rule needs to know of a GPU: multiprocessors and shared memory in bytes."""

    multiprocessors: int
    shared_per_block_bytes: int
    capability: tuple[int, int]


OFFLINE_LIMITS = {
    (8, 6): DeviceLimits(84, 101376, (8, 6)),
    (8, 9): DeviceLimits(142, 101376, (8, 9)),
    (9, 0): DeviceLimits(132, 232448, (9, 0)),
    (12, 0): DeviceLimits(188, 101376, (12, 0)),
}
"""Opt-in shared memory per block, CUDA C++ Programming Guide, table "Technical Specifications per
Compute Capability"; multiprocessors of a full RTX A6000, RTX 6000 Ada, H200 and RTX PRO 6000."""

INTERPRETER_LIMITS = DeviceLimits(4, 101376, (0, 0))


@lru_cache
def device_limits(device: torch.device) -> DeviceLimits:
    """Return the limits of `device`; the interpreter gets a small made-up one."""
    import torch

    if device.type != "cuda":
        return INTERPRETER_LIMITS
    found = torch.cuda.get_device_properties(device)
    shared = getattr(found, "shared_memory_per_block_optin", 101376)
    return DeviceLimits(found.multi_processor_count, shared, (found.major, found.minor))


@dataclass(frozen=True)
class LaunchPlan:
    """One kernel's configuration: keys per tile, warps, pipeline stages, splits per sequence.

    programs: how many share the splits of a sequence, each a run of neighbours; default one each.
    Only block_n, num_warps and splits change a result's last bits.
    """

    block_n: int
    num_warps: int
    num_stages: int
    splits: int
    programs: int | None = None

    @property
    def splits_per_program(self) -> int:
        """Neighbouring splits that one program reads: few, or whole groups, or whole spans.

        A program that reads all of up to `SPAN` splits has a span for itself, perhaps a short one.
        """
        run = -(-self.splits // (self.programs or self.splits))
        spans = run >= SPAN or GROUP < run == self.splits
        unit = SPAN if spans else GROUP if run >= GROUP else 1
        return -(-run // unit) * unit

    @property
    def splits_per_result(self) -> int:
        """Splits in one stored result: the largest of a span, a group and 1 that programs fill."""
        return next(unit for unit in (SPAN, GROUP, 1) if self.splits_per_program % unit == 0)

    @property
    def grid_programs(self) -> int:
        """Programs per sequence and block of heads, none of them without a split."""
        return -(-self.splits // self.splits_per_program)


def head_blocks(group: int) -> tuple[int, int]:
    """Return (heads per program, a power of two up to 16; programs that share a KV head)."""
    heads = min(MAX_HEADS_PER_PROGRAM, next_power_of_two(group))
    return heads, -(-group // heads)


def next_power_of_two(value: int) -> int:
    """Return the smallest power of two that is at least `value` (1 for 0)."""
    return 1 << max(0, value - 1).bit_length()


def stages_that_fit(limits: DeviceLimits, tile_bytes: int, most: int) -> int:
    """Return how many tiles fit into four fifths of a block's shared memory, at most `most`."""
    return max(1, min(most, limits.shared_per_block_bytes * 4 // 5 // tile_bytes))


def splits_that_fill(
    limits: DeviceLimits, programs_per_split: int, tiles: int, ctas_per_sm: int, min_tiles: int = 1
) -> int:
    """Return how many pieces one sequence is cut into, so that it alone fills the device.

    programs_per_split: KV heads times head blocks; ctas_per_sm: programs that should run together;
    min_tiles: of a piece. Pieces without a tile are left out.
    """
    slots = limits.multiprocessors * ctas_per_sm
    most = max(1, min(slots // programs_per_split, tiles // min_tiles))
    return max(1, -(-tiles // -(-tiles // most))) if tiles else 1


def programs_that_fit(
    limits: DeviceLimits, programs_per_split: int, batch: int, splits: int, ctas_per_sm: int
) -> int:
    """Return how many programs share one sequence's splits, so that the batch runs in one wave."""
    slots = limits.multiprocessors * ctas_per_sm
    return max(1, min(splits, slots // max(1, programs_per_split * batch)))


def programs_per_sm(limits: DeviceLimits, programs: int, ctas_per_sm: int) -> int:
    """Return how many of `programs` run together on a multiprocessor, at most `ctas_per_sm`."""
    return max(1, min(ctas_per_sm, -(-programs // limits.multiprocessors)))
