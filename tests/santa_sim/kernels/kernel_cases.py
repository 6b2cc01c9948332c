"""Stored arrays and the rounding bounds that the kernel tests share."""

import numpy as np

from hw_models.ledger import Dtype
from santa_sim.storage import decode_stored, encode

DTYPES = [Dtype.FP32, Dtype.BF16, Dtype.FP16]
UNIT_ROUNDOFF = 2.0**-24
"""Largest relative error of rounding to float32."""


def stored(rng, shape, dtype):
    """Normal numbers as stored, and what they are in float64."""
    array = encode(rng.standard_normal(shape), dtype)
    return array, decode_stored(array).astype(np.float64)


def product_sum_bound(sizes, terms, unit=UNIT_ROUNDOFF):
    """Largest error of a sum of `terms` products in any order, with or without fused additions.

    Each term passes at most one multiplication and `terms` additions, each off by a factor of at
    most 1 + unit: (1 + unit)^(terms + 1) − 1 < 1.01·(terms + 1)·unit of Σ|terms|, here `sizes`;
    products below the normal range lose at most half of the smallest subnormal each.
    """
    return 1.01 * (terms + 1) * unit * sizes + terms * 2.0**-149


def bits(array):
    return array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.itemsize])
