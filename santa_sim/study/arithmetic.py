"""Arithmetic that raises where numbers leave their range, and gives the same bits on any machine.

OpenBLAS splits a matrix product by the number of its threads, and the last bits of a sum with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

FAULTS = (ArithmeticError, ValueError, MemoryError)
"""What numbers too large, too small or too many end in."""

_alone = RLock()
"""The number of BLAS threads is one for the whole process."""


@contextmanager
def repeatable() -> Iterator[None]:
    """Run NumPy with one BLAS thread; overflow, division by zero and NaN raise."""
    with (
        _alone, _blas().limit(limits=1, user_api="blas"),
        np.errstate(over="raise", divide="raise", invalid="raise"),
    ):
        yield


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
