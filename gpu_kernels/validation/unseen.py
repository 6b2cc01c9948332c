"""Which measured points nobody had looked at while the model was built.

Nothing is fitted on any attention kernel, but some of the model's structure was chosen after
looking at errors of the committed files. One file was measured apart and opened last; its settings
that are in none of the others are the stricter test.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from gpu_kernels.calibration.rows import Row, read_rows
from gpu_kernels.validation.committed import CALIBRATED
from gpu_kernels.validation.times import BENCH_COLUMNS, TimePoint

SETTING = ("kernel", "batch", "context", "samples", "num_qo_heads", "num_kv_heads", "head_dim",
           "dtype", "kv_layout", "inputs", "tile", "trials", "l2")
"""Columns of a bench file that say what was timed."""


def unseen(points: Iterable[TimePoint]) -> list[TimePoint]:
    """Return the points of a committed file opened last, without what other files have too."""
    files = {one.opened_last.resolve(): tuple(set(one.timed) - {one.opened_last})
             for one in CALIBRATED.values() if one.opened_last is not None}
    found = []
    for point in points:
        others = files.get(Path(point.row.file).resolve())
        if others is not None and setting(point.row) not in _settings(others):
            found.append(point)
    return found


def setting(row: Row) -> tuple[str, ...]:
    """Return what a row of a bench file is a measurement of."""
    return tuple(row.text(name) for name in SETTING)


@lru_cache
def _settings(files: tuple[Path, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(map(setting, read_rows(files, BENCH_COLUMNS, "bench")))
