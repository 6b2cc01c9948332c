"""Whether stored numbers are finite, at the speed of reading them once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from santa_sim.kernels.stored import StoredView, kernel_view, stored_at


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether no number of a stored array [n, KVH, d] is infinite or NaN.

    array: any strides but the last's.
    """
    n, heads, d = array.shape
    if array.strides[1] == d * array.itemsize:
        array = array.reshape(n, heads * d)
    return bool(_all_finite(kernel_view(array), array.shape[-1]))


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _all_finite(array: StoredView, d: int) -> bool:
    zero = np.float32(0.0)
    for i in range(array.rows):
        for h in range(array.heads):
            for j in range(np.uint64(d)):
                # 0 times a finite number is 0, times any other NaN
                zero += np.float32(0.0) * stored_at(array, i, h, j)
    return bool(zero == 0.0)
