"""Scratch memory that calls may share, so that a decode loop allocates nothing."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

ALIGNMENT_BYTES = 256


class Workspace:
    """One growing buffer, cut into named tensors anew by every call.

    Calls on one stream may share a workspace: their kernels run in order. A buffer that must grow
    is replaced, so warm up before capturing a CUDA graph; `reserve` does so without a call.
    """

    def __init__(self) -> None:
        self._buffer: torch.Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return 0 if self._buffer is None else self._buffer.numel()

    def reserve(self, nbytes: int, device: torch.device) -> None:
        """Hold at least `nbytes` on `device`."""
        import torch

        if self._buffer is None or self._buffer.device != device or self.nbytes < nbytes:
            self._buffer = torch.empty(nbytes, dtype=torch.uint8, device=device)

    def cut(
        self, pieces: list[tuple[tuple[int, ...], torch.dtype]], device: torch.device
    ) -> list[torch.Tensor]:
        """Return one uninitialised tensor per (shape, dtype), each aligned to 256 bytes."""
        ends, end = [], 0
        for shape, dtype in pieces:
            size = prod(shape) * dtype.itemsize
            ends.append((end, size))
            end += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.reserve(max(end, ALIGNMENT_BYTES), device)
        buffer = self._buffer
        assert buffer is not None  # noqa: S101 - narrows the type after reserve
        return [
            buffer[start : start + size].view(dtype).view(shape)
            for (start, size), (shape, dtype) in zip(ends, pieces, strict=True)
        ]
