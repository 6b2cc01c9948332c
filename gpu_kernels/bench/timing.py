"""CUDA-event timing of short kernels, with a cold or a warm L2 cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FLUSH_BYTES = 256 * 2**20
"""Several times the largest L2 in the catalogue (96 MiB)."""
SPIN_CYCLES = 400_000
"""About 0.2 ms: the GPU waits this long so that the host has queued all launches in time."""
TIMER = "cuda events, launches queued behind a spin kernel; cold: 256 MiB read before each call"


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: median, 20th and 80th percentile over `repeats` calls."""

    time_s: float
    time_s_p20: float
    time_s_p80: float
    repeats: int


class Stopwatch:
    """Times calls on one device; holds the buffer that empties the cache."""

    def __init__(self, device: torch.device) -> None:
        import torch

        self.device = device
        self._buffer = torch.zeros(FLUSH_BYTES // 4, dtype=torch.float32, device=device)

    def measure(self, call: Callable[[], object], *, cold: bool, repeats: int) -> Timing:
        """Return the time of one call, after three calls that are not timed.

        cold: read a large buffer before each call, outside the timed span. It is read and not
        written, because dirty lines would be written back within the timed span.
        """
        import torch

        for _ in range(3):
            call()
        begin = [torch.cuda.Event(enable_timing=True) for _ in range(repeats)]
        end = [torch.cuda.Event(enable_timing=True) for _ in range(repeats)]
        for i in range(repeats):
            if cold:
                self._buffer.sum()
            torch.cuda._sleep(SPIN_CYCLES)
            begin[i].record()
            call()
            end[i].record()
        torch.cuda.synchronize()
        times = sorted(b.elapsed_time(e) * 1e-3 for b, e in zip(begin, end, strict=True))
        median, p20, p80 = (times[round(share * (repeats - 1))] for share in (0.5, 0.2, 0.8))
        return Timing(median, p20, p80, repeats)
