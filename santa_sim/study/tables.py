"""The result tables as data frames with fixed columns and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from santa_sim.report.tables import (
    BUSY_COLUMNS,
    CONSTANT_COLUMNS,
    ENERGY_COLUMNS,
    OPERATION_COLUMNS,
    POINT_COLUMNS,
    STREAM_COLUMNS,
)
from santa_sim.study.rows import Collector, Row

if TYPE_CHECKING:
    import pandas as pd

RESULT_COLUMNS: tuple[str, ...] = (*POINT_COLUMNS, "status", "error")
"""`status` is `ok` or `failed`, `error` says why."""

_COUNTS = frozenset({
    "point", "layer", "context", "batch", "num_qo_heads", "num_kv_heads", "head_dim",
    "samples_requested", "trials", "tile", "seeds", "multiplies", "adds", "count",
})
_FLAGS = frozenset({"fits", "unverified"})
_REALS = frozenset({
    "samples_effective", "rel_error", "rel_error_low", "rel_error_high", "unique_row_fraction",
    "value", "low", "high",
})


@dataclass(frozen=True)
class ResultTables:
    """The tables of a study; nothing in them depends on when or where it ran.

    points: one row per point and accelerator (`RESULT_COLUMNS`); the others as in
    `santa_sim.report.tables`.
    """

    points: pd.DataFrame
    operations: pd.DataFrame
    streams: pd.DataFrame
    energy: pd.DataFrame
    busy: pd.DataFrame
    constants: pd.DataFrame


def frames(collected: Collector) -> ResultTables:
    """Return collected rows as tables."""
    return ResultTables(
        points=_frame(collected.points, RESULT_COLUMNS),
        operations=_frame(collected.operations, OPERATION_COLUMNS),
        streams=_frame(collected.streams, STREAM_COLUMNS),
        energy=_frame(collected.energy, ENERGY_COLUMNS),
        busy=_frame(collected.busy, BUSY_COLUMNS),
        constants=_frame(collected.constants, CONSTANT_COLUMNS),
    )


def _frame(rows: list[Row], columns: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    # column by column: a frame made from rows turns counts with gaps into float64
    return pd.DataFrame({
        name: pd.array([row.get(name) for row in rows], dtype=dtype_of_column(name))
        for name in columns
    })


def dtype_of_column(column: str) -> Any:
    """Return the type of a column of any result table, by its name."""
    if column in _COUNTS or column.endswith("_bytes"):
        return "Int64"
    if column in _FLAGS:
        return "boolean"
    if column in _REALS or column.endswith(("_s", "_j")):
        return "float64"
    return "string"
