"""Requests to a memory: one burst each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

REQUEST = np.dtype(
    [("arrival_cycle", np.int64), ("address", np.int64), ("is_write", np.bool_)], align=True
)
"""One burst. arrival_cycle: when it is there, in cycles of tCK, never before the request in front
of it; address: any byte of the burst; is_write: whether it moves into the memory."""


def make_requests(
    address: ArrayLike, arrival_cycle: ArrayLike = 0, is_write: ArrayLike = False
) -> NDArray[np.void]:
    """Return a structured array of `REQUEST`; scalars stand for all requests."""
    at = np.asarray(address, np.int64)
    made = np.empty(at.shape, REQUEST)
    made["address"], made["arrival_cycle"], made["is_write"] = at, arrival_cycle, is_write
    return made


def burst_addresses(start: ArrayLike, size_bytes: int, burst_bytes: int) -> NDArray[np.int64]:
    """Return the first byte of each burst that segments touch, segment by segment.

    start: int64 [segments], first byte of each segment; size_bytes: of every segment, >= 1.
    """
    first = np.asarray(start, np.int64)
    begin = first // burst_bytes
    count = (first + size_bytes - 1) // burst_bytes - begin + 1
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    addresses: NDArray[np.int64] = (np.repeat(begin, count) + within) * burst_bytes
    return addresses
