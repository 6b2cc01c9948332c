"""The result table of a wide study, written in pieces: a point at a time, all machines at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hw_models.evaluate_many import Costs, evaluate_many
from hw_models.ledger import OpKind
from hw_models.lowering import Misfit
from santa_sim.report.tables import ACCOUNTS
from santa_sim.study.arithmetic import FAULTS
from santa_sim.study.load import LoadedStudy
from santa_sim.study.machines import Machines
from santa_sim.study.plan import Planned
from santa_sim.study.point import PointResult
from santa_sim.study.rows import Row, counts, identity, mean_count, misfit_text
from santa_sim.study.tables import RESULT_COLUMNS, dtype_of_column

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_NAME = "\0"
"""Stands for a machine's name until the text is written out for each."""
ROW_GROUP = 100_000
"""Rows that are in memory before they are written."""


@dataclass(frozen=True)
class WideTable:
    """The results of all points on all machines, made when they are asked for.

    found: result of a point by its key, or the text of the error. Every row is bit for bit what a
    study of one machine would hold.
    """

    loaded: LoadedStudy
    points: tuple[Planned, ...]
    found: Callable[[str], PointResult | str]

    def write(self, path: Path) -> None:
        """Write the table as Parquet; memory stays bounded by `ROW_GROUP`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, schema(), compression="zstd") as writer:
            for batches in self._groups():
                writer.write_table(pa.Table.from_batches(batches))

    def frame(self) -> pd.DataFrame:
        """Return the table as a data frame."""
        import pyarrow as pa

        found: pd.DataFrame = pa.Table.from_batches(self.batches(), schema()).to_pandas()
        return found.astype({name: dtype_of_column(name) for name in RESULT_COLUMNS})

    def _groups(self) -> Iterator[list[pa.RecordBatch]]:
        waiting: list[pa.RecordBatch] = []
        for batch in self.batches():
            waiting.append(batch)
            if sum(len(b) for b in waiting) >= ROW_GROUP:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield rows in the order of the study: datasets, methods, machines."""
        for planned in self.points:
            result = self.found(planned.key)
            for machines in self.loaded.machines:
                row = {**identity(planned.point), "status": "ok", "error": ""}
                if isinstance(result, PointResult):
                    row |= counts(result, planned.point)
                    costs = _costs(result, machines)
                else:
                    costs = _failed(result)
                yield _batch(row | costs, machines)


def schema() -> pa.Schema:
    """Return the Arrow schema of the result table."""
    import pyarrow as pa

    types = {"Int64": pa.int64(), "boolean": pa.bool_(), "float64": pa.float64(),
             "string": pa.large_string()}
    return pa.schema([(name, types[str(dtype_of_column(name))]) for name in RESULT_COLUMNS])


def _batch(columns: Row, machines: Machines) -> pa.RecordBatch:
    import pyarrow as pa

    size = len(machines.names)
    columns = {
        **columns, "accelerator": machines.names,
        "accelerator_title": [
            name.replace(machines.base.name, f"{machines.base.title},", 1) if machines.changes
            else machines.base.title for name in machines.names
        ],
    }
    arrays = []
    for field in schema():
        value = columns.get(field.name)
        if isinstance(value, np.ma.MaskedArray):
            arrays.append(pa.array(value.data, field.type, mask=np.ma.getmaskarray(value)))
        elif isinstance(value, np.ndarray | list | tuple):
            arrays.append(pa.array(value, field.type))
        elif value is None or value != value:  # NaN: there is none
            arrays.append(pa.nulls(size, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(value, field.type), size))
    return pa.RecordBatch.from_arrays(arrays, schema=schema())


def _failed(error: str) -> Row:
    return {"fits": False, "misfit": "", "bound": "", "status": "failed", "error": error}


def _costs(result: PointResult, machines: Machines) -> Row:
    """Return the columns that depend on the machine, machines in their order."""
    size = len(machines.names)
    columns: dict[str, NDArray[Any]] = {}
    for stack, indices in machines.stacks:
        for name, value in _on_stack(result, stack).items():
            if name not in columns:
                columns[name] = _empty(name, size)
            columns[name][indices] = value
    return dict(columns)


def _empty(name: str, size: int) -> NDArray[Any]:
    kind = str(dtype_of_column(name))
    if kind == "string":
        return np.full(size, "", dtype=object)
    if kind == "boolean":
        return np.zeros(size, dtype=bool)
    empty: Any = np.ma.masked_all  # NumPy does not type it
    found: NDArray[Any] = empty(size, dtype=np.int64 if kind == "Int64" else np.float64)
    return found


def _on_stack(result: PointResult, stack: Any) -> Row:
    try:
        costs = evaluate_many(result.total, stack)
    except FAULTS as error:
        return _failed(str(error))
    words = {"misfit": "", "bound": "", "status": "ok", "error": ""}
    if isinstance(costs, Misfit):
        text = misfit_text(replace(costs, accelerator=_NAME), result.runs)
        return words | {
            "fits": False, "misfit": [text.replace(_NAME, name) for name in stack.names]
        }
    return words | _costed(costs, result.runs)


def _costed(costs: Costs, runs: int) -> Row:
    row: Row = {
        "fits": True, "bound": costs.bound,
        "multiplies": mean_count(costs.lowered.ledger.count(OpKind.MULTIPLY), runs),
        "adds": mean_count(costs.lowered.ledger.count(OpKind.ADD), runs),
        "time_s": costs.time_s.nominal / runs, "time_low_s": costs.time_s.low / runs,
        "time_high_s": costs.time_s.high / runs,
        "time_no_overlap_s": costs.no_overlap_time_s.nominal / runs,
    }
    for account in ACCOUNTS:
        if account in costs.energy_j:
            joules = costs.energy_j[account]
            row |= {f"{account}_energy_j": joules.nominal / runs,
                    f"{account}_energy_low_j": joules.low / runs,
                    f"{account}_energy_high_j": joules.high / runs}
    return row
