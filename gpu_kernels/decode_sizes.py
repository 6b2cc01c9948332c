"""The sizes of a decode step that launch plans follow from; needs neither PyTorch nor Triton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gpu_kernels.split_plan import head_blocks


class DecodeSizes(Protocol):
    """What a plan may look at: a checked request has it, and so has `Sizes`."""

    @property
    def batch(self) -> int:
        """Sequences."""
        ...

    @property
    def num_qo_heads(self) -> int:
        """Query heads."""
        ...

    @property
    def num_kv_heads(self) -> int:
        """KV heads."""
        ...

    @property
    def head_dim(self) -> int:
        """Numbers of a row of one head."""
        ...

    @property
    def context(self) -> int:
        """Keys that a sequence can have at most."""
        ...

    @property
    def group(self) -> int:
        """Query heads per KV head."""
        ...

    @property
    def row_bytes(self) -> int:
        """Bytes of a cached row of one KV head."""
        ...


@dataclass(frozen=True)
class Sizes:
    """The sizes of a step without its tensors; itemsize: bytes of a number in the caches."""

    batch: int
    context: int
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    itemsize: int

    @property
    def group(self) -> int:
        """Query heads per KV head."""
        return self.num_qo_heads // self.num_kv_heads

    @property
    def row_bytes(self) -> int:
        """Bytes of a cached row of one KV head."""
        return self.head_dim * self.itemsize


def programs_per_split(sizes: DecodeSizes) -> int:
    """Return the programs that read one stretch of one sequence: KV heads × blocks of heads."""
    return sizes.num_kv_heads * head_blocks(sizes.group)[1]
