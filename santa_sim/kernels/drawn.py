"""Drawn rows as short lists: from how often each row was drawn to the rows that were."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

_CHUNK = 16
"""Rows looked at together: almost all of them were not drawn."""


class Drawn(NamedTuple):
    """Rows that G heads drew: head g owns indptr[g] : indptr[g + 1], rows ascending.

    indptr: int64 [G + 1]; rows, counts: int32; union: rows that at least one head drew.
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.int32]
    union: int


def drawn_rows(counts: NDArray[np.int32], draws: int) -> Drawn:
    """Return the rows with a draw of each head.

    counts: int32 [G, n], not negative; draws: most that a head made, at least Σ_i counts[g, i].
    """
    indptr = np.zeros(len(counts) + 1, np.int64)
    rows, times = np.empty((2, len(counts) * min(draws, counts.shape[1])), np.int32)
    union = _collect(counts, indptr, rows, times)
    found = int(indptr[-1])
    return Drawn(indptr, rows[:found], times[:found], union)


@njit(cache=True, nogil=True)
def _collect(counts, indptr, rows, times):  # type: ignore[no-untyped-def]
    heads, n = counts.shape
    seen = np.zeros(n, np.uint8)
    found = union = 0
    for g in range(heads):
        for start in range(0, n, _CHUNK):
            stop = min(n, start + _CHUNK)
            any_drawn = 0
            for i in range(np.uint64(start), np.uint64(stop)):
                any_drawn |= counts[g, i]
            if any_drawn == 0:
                continue
            for i in range(start, stop):
                if counts[g, i] > 0:
                    rows[found] = i
                    times[found] = counts[g, i]
                    found += 1
                    union += 1 - seen[i]
                    seen[i] = 1
        indptr[g + 1] = found
    return union
