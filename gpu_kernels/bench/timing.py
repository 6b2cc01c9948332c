"""CUDA-event timing of short kernels, with a cold or a warm L2 cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

FLUSH_BYTES = 256 * 2**20
"""Several times the largest L2 in the catalogue (96 MiB)."""
FIRST_SPIN_CYCLES = 200_000
"""About 0.1 ms: the GPU waits this long so that the host has queued all launches in time."""
MAX_SPIN_CYCLES = 50_000_000
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
        self._spin_cycles = FIRST_SPIN_CYCLES

    def measure(self, call: Callable[[], object], *, cold: bool, repeats: int) -> Timing:
        """Return the time of one call, after three calls that are not timed.

        cold: read a large buffer before each call, outside the timed span. It is read and not
        written, because dirty lines would be written back within the timed span.
        Raises `RuntimeError` where the host is too slow to queue the call ahead of the device.
        """
        import torch

        for _ in range(3):
            call()
        torch.cuda.synchronize()
        pairs: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        while len(pairs) < repeats:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if cold:
                self._buffer.sum()
            torch.cuda._sleep(self._spin_cycles)
            begin.record()
            call()
            end.record()
            if begin.query():
                # the device waited for the host: that is no time of a kernel
                self._spin_cycles *= 2
                if self._spin_cycles > MAX_SPIN_CYCLES:
                    raise RuntimeError("the host is too slow to queue the call in time")
            else:
                pairs.append((begin, end))
        torch.cuda.synchronize()
        times = sorted(begin.elapsed_time(end) * 1e-3 for begin, end in pairs)
        median, p20, p80 = (times[round(share * (repeats - 1))] for share in (0.5, 0.2, 0.8))
        return Timing(median, p20, p80, repeats)
