"""Latent factors that keys and values share, so that errors of scores move the output together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_FACTORS = 4
"""Factors r per KV head. Fewer would let single rows decide how well values agree."""


@dataclass(frozen=True, eq=False)
class LatentFactors:
    """What every key and value of one KV head has in common, up to its directions.

    scores: float32 [n, r], normal; share: part of the variance of keys and of values that follows
    them, 0..1.
    """

    scores: NDArray[np.float32]
    share: float

    @property
    def rank(self) -> int:
        """r, the number of factors."""
        return int(self.scores.shape[1])

    def directions(self, free: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return [r, d] spanning what `free` [r, d] spans, so that scores @ it has `share`·d.

        Every feature then has the variance `share` on average.
        """
        if not self.rank:
            return free
        head_dim = free.shape[1]
        return np.asarray(
            np.linalg.qr(free.T)[0].T * np.sqrt(self.share * head_dim / self.rank)
        )


def draw_factors(
    rng: np.random.Generator, context: int, free_dimensions: int, share: float
) -> LatentFactors:
    """Return normal factors for `context` rows; free_dimensions: d less those that queries take."""
    rank = min(MOST_FACTORS, free_dimensions)
    return LatentFactors(rng.standard_normal((context, rank), dtype=np.float32), share)
