"""The device that is measured and the memory that all probes read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

POOL_BYTES = 4 * 2**30


class Lab:
    """A device and a pool of bf16 numbers, seen as int32 words; made when first needed."""

    def __init__(self, device: torch.device, pool_bytes: int = POOL_BYTES) -> None:
        self.device = device
        self.pool_bytes = pool_bytes

    @cached_property
    def _normal(self) -> torch.Tensor:
        import torch

        generator = torch.Generator(self.device).manual_seed(0)
        # as wide as what decode reads: zeros would switch fewer wires
        pool = torch.empty(self.pool_bytes // 2, dtype=torch.bfloat16, device=self.device)
        return pool.normal_(generator=generator).view(torch.int32)

    @cached_property
    def _zeros(self) -> torch.Tensor:
        import torch

        return torch.zeros(self.pool_bytes // 4, dtype=torch.int32, device=self.device)

    def words(self, data: str = "normal") -> torch.Tensor:
        """Return the pool, int32 [pool_bytes / 4]; data: `normal` or `zeros`."""
        return self._normal if data == "normal" else self._zeros

    def numbers(self) -> torch.Tensor:
        """Return the pool as bf16 [pool_bytes / 2]."""
        import torch

        return self._normal.view(torch.bfloat16)
