"""How many threads a worker's numeric libraries get: one, for its chunk is one core's work."""

from __future__ import annotations

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that have to be 1 before a worker imports NumPy and Numba."""
