"""Ternary scores: keys against the signed counts of a query's ternary digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.kernels.scores import head_scores


def ternary_scores(
    multiplicity: NDArray[np.int32], k: NDArray[Any], out: NDArray[np.float32]
) -> None:
    """Write out[h, i] = Σ_j multiplicity[h, j]·k[i, h // G, j].

    multiplicity: int32 [H, d], signed; k: stored [n, KVH, d], any strides but the last's;
    out: float32 [H, n].
    """
    head_scores(multiplicity.astype(np.float32), k, out)
