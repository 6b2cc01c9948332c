"""Ternary scores: keys against the signed counts of a query's ternary digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.kernels.scores import group_scores


def ternary_scores(
    multiplicity: NDArray[np.int32], k: NDArray[Any], out: NDArray[np.float32]
) -> None:
    """Write out[g, i] = Σ_j multiplicity[g, j]·k[i, j].

    multiplicity: int32 [G, d], signed; k: stored [n, d], any row stride; out: float32 [G, n].
    """
    group_scores(multiplicity.astype(np.float32), k, out)
