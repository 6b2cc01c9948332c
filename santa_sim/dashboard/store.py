"""Runs as a DuckDB database: which points a filter leaves, and which of them are worth drawing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hw_models.problems import Problem, SpecError
from santa_sim.report.load import POINTS, TABLES
from santa_sim.report.tables import ACCOUNTS, POINT_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

FACETS = ("folder", "attention", "context", "batch", "accelerator", "method", "samples")
"""What the filter bar filters by; columns of the table `points`."""
_WHOLE = ("context", "batch")
NO_SAMPLES = "none"
DRAWN, DETAILED, COMPARED, LINES = 4000, 150, 60, 1500
"""Most points that are drawn, that come with details, that are compared, and that scale."""

COSTS = {"time": "time_s", "bytes": "moved_bytes"}

Wanted = dict[str, Sequence[str] | None]
"""Facet -> the values that are left, None for all."""


@dataclass(frozen=True)
class View:
    """What a reader looks at.

    wanted: the filters. cost: what error is shown against, a key of `COSTS` or `energy`.
    boundary: energy account. budget: relative error. baseline: a method.
    along: the facet that the figure on scaling does not filter. picked: ids of points.
    """

    wanted: Wanted
    cost: str
    boundary: str
    budget: float
    baseline: str
    along: str = "context"
    picked: tuple[int, ...] = ()


class Store:
    """Tables of one or more runs in a database file of this process, which DuckDB pages.

    folders: of runs. database: a file that does not exist yet. Raises `SpecError` where a run has
    no results. Points of all runs get ids of their own, in order of the runs and of their rows.
    """

    def __init__(self, folders: Sequence[Path], database: Path, memory: str = "1200MB") -> None:
        import duckdb

        self.folders = list(folders)
        self._lock = threading.Lock()
        self._database = duckdb.connect(str(database))
        self._database.execute(f"SET memory_limit='{memory}'")
        self._database.execute("SET preserve_insertion_order=false")
        self.read()

    def read(self) -> None:
        """Read the runs, or read them again; raises `SpecError` where one cannot be read."""
        import duckdb

        columns = [c for c in POINT_COLUMNS if c not in ("layer", "geometry", "dtype")]
        selects = []
        for i, folder in enumerate(self.folders):
            path = folder / f"{POINTS}.parquet"
            if not path.is_file():
                raise SpecError(Problem("is not there; a run is a folder that `python -m "
                                        "santa_sim.study` has finished", str(path)))
            selects.append(
                f"SELECT {i} AS number, {_text(self._name(i))} AS folder, {', '.join(columns)} "
                f"FROM read_parquet({_text(str(path))}) WHERE status = 'ok'"
            )
        energies = [c for a in ACCOUNTS for c in (f"{a}_energy_j",)]
        try:
            self._database.execute(f"""
                CREATE OR REPLACE TABLE points AS
                SELECT row_number() OVER (ORDER BY number, point, accelerator) - 1 AS id, *,
                  coalesce(dataset, source) AS attention,
                  coalesce(CAST(samples_requested AS VARCHAR), '{NO_SAMPLES}') AS samples,
                  dense_rank() OVER (ORDER BY number, source, dataset, context, batch) - 1 AS "case"
                FROM ({' UNION ALL '.join(selects)}) ORDER BY id""")
        except duckdb.Error as error:
            raise SpecError(Problem(f"cannot be read: {str(error).splitlines()[0]}",
                                    ", ".join(map(str, self.folders)))) from None
        self.titles: dict[str, str] = dict(self._all(
            "SELECT accelerator, any_value(accelerator_title) FROM points GROUP BY 1"))
        self.facets = {facet: self._values(facet) for facet in FACETS}
        self.accounts = {
            name: [a for a, n in zip(ACCOUNTS, counts, strict=True) if n]
            for name, *counts in self._all(
                f"SELECT accelerator, {', '.join(f'count({e})' for e in energies)} "
                "FROM points GROUP BY 1")
        }
        self.rows = int(self._all("SELECT count(*) FROM points")[0][0])

    def _name(self, i: int) -> str:
        name = self.folders[i].resolve().name
        same = [f for f in self.folders if f.resolve().name == name]
        return name if len(same) == 1 else f"{name} ({i + 1})"

    def _values(self, facet: str) -> list[str]:
        order = {"context": "1", "batch": "1", "samples": f"TRY_CAST({facet} AS BIGINT)"}
        rows = self._all(f"SELECT DISTINCT {facet} FROM points ORDER BY "
                         f"{order.get(facet, '1')} NULLS FIRST")
        return [str(value) for (value,) in rows]

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock:
            found: list[Any] = self._database.execute(query, list(values)).fetchall()
        return found

    def _frame(self, query: str, values: Sequence[Any] = ()) -> pd.DataFrame:
        with self._lock:
            frame: pd.DataFrame = self._database.execute(query, list(values)).df()
        return frame

    def count(self, wanted: Wanted) -> int:
        """Return how many points a filter leaves."""
        where, values = _where(wanted)
        return int(self._all(f"SELECT count(*) FROM points WHERE {where}", values)[0][0])

    def drawn(self, view: View) -> pd.DataFrame:
        """Return the ids worth drawing, with `rank` (lower first): those that the filter leaves.

        Picked ones, the Pareto front of each case on each accelerator, then a sample that does not
        change from call to call. Beside them what figures need that look beyond the filter: the
        baseline of every case, the best of every accelerator, and the points along one facet.
        """
        energy = f"{view.boundary}_energy_j"
        cost = COSTS.get(view.cost, energy)
        where, values = _where(view.wanted)
        wide, wide_values = _where({**view.wanted, "accelerator": None})
        along, along_values = _where({**view.wanted, view.along: None})
        picked = ", ".join(str(int(i)) for i in view.picked) or "-1"
        return self._frame(f"""
            WITH chosen AS MATERIALIZED (
              SELECT id, "case", accelerator, method, {cost} AS cost,
                greatest(rel_error, 1e-5) AS error FROM points WHERE {where}),
            front AS (
              SELECT id FROM (
                SELECT id, error, min(error) OVER (
                  PARTITION BY "case", accelerator ORDER BY cost, error
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
                FROM chosen WHERE cost IS NOT NULL AND error IS NOT NULL)
              WHERE before IS NULL OR error < before),
            compared AS MATERIALIZED (
              SELECT id, "case", accelerator, {energy} AS energy,
                coalesce(rel_error_high, rel_error) <= ? AS kept
              FROM points JOIN (SELECT DISTINCT "case" FROM points WHERE {wide}
                                ORDER BY "case" LIMIT {COMPARED}) USING ("case")
              WHERE {wide}),
            best AS (
              SELECT arg_min(id, energy) AS id FROM compared WHERE kept AND energy IS NOT NULL
              GROUP BY "case", accelerator),
            listed AS (SELECT min(id) AS id FROM compared GROUP BY "case", accelerator),
            base AS (
              SELECT points.id FROM points
              JOIN (SELECT DISTINCT "case" FROM chosen LIMIT 500) USING ("case") WHERE method = ?),
            line AS (
              SELECT id FROM points WHERE {along} ORDER BY method = ? DESC, hash(method), id
              LIMIT {LINES}),
            ranked AS (
              SELECT id, 0 AS rank FROM chosen WHERE id IN ({picked})
              UNION ALL SELECT id, 1 FROM (SELECT id FROM chosen WHERE method = ? LIMIT 500)
              UNION ALL SELECT id, 2 FROM front
              UNION ALL SELECT id, 3 FROM (SELECT id FROM chosen ORDER BY cost LIMIT 50)
              UNION ALL SELECT id, 4 FROM (
                SELECT id FROM chosen ORDER BY hash(id) LIMIT {DRAWN})),
            kept AS (SELECT id, min(rank) AS rank FROM ranked GROUP BY id
                     ORDER BY rank, hash(id) LIMIT {DRAWN})
            SELECT id, min(rank) AS rank FROM (
              SELECT * FROM kept UNION ALL SELECT id, 1 FROM best UNION ALL SELECT id, 5 FROM listed
              UNION ALL SELECT id, 5 FROM base UNION ALL SELECT id, 5 FROM line)
            GROUP BY id ORDER BY id""", [
                *values, view.budget, *wide_values, *wide_values, view.baseline, *along_values,
                view.baseline, view.baseline])

    def points(self, ids: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of `drawn`, all columns, in the order of ids."""
        with self._lock:
            self._database.register("wanted_ids", ids)
            frame: pd.DataFrame = self._database.execute(
                "SELECT points.*, rank FROM points JOIN wanted_ids USING (id) ORDER BY id").df()
            self._database.unregister("wanted_ids")
        return frame

    def details(self, points: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return the detail tables of points (columns `number`, `point`, `accelerator`, `row`)."""
        found: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES if name != "constants"}
        with self._lock:
            for number, group in points.groupby("number"):
                self._database.register("wanted_rows", group[["point", "accelerator", "row"]])
                for name, frames in found.items():
                    path = self.folders[int(str(number))] / f"{name}.parquet"
                    on = "point" if name == "streams" else "point, accelerator"
                    low, high = int(group["point"].min()), int(group["point"].max())
                    frames.append(self._database.execute(
                        'SELECT "row", detail.* EXCLUDE (point) FROM '
                        f"read_parquet({_text(str(path))}) AS detail JOIN wanted_rows USING ({on}) "
                        f"WHERE detail.point BETWEEN {low} AND {high}").df())
                self._database.unregister("wanted_rows")
        import pandas as pd

        return {
            name: pd.concat(frames).sort_values("row", kind="stable", ignore_index=True)
            for name, frames in found.items() if frames
        }

    def constants(self) -> pd.DataFrame:
        """Return the constants of all runs, once per accelerator and path (of the first run)."""
        paths = [str(folder / "constants.parquet") for folder in self.folders]
        return self._frame(
            f"SELECT * FROM read_parquet({paths}) QUALIFY row_number() OVER "
            "(PARTITION BY accelerator, path) = 1")


def _where(wanted: Wanted) -> tuple[str, list[Any]]:
    parts, values = ["true"], []
    for facet in FACETS:
        chosen = wanted.get(facet)
        if chosen is not None:
            kind = "BIGINT" if facet in _WHOLE else "VARCHAR"
            parts.append(f"{facet} IN (SELECT unnest(?::{kind}[]))")
            values.append([int(v) for v in chosen] if facet in _WHOLE else list(chosen))
    return " AND ".join(parts), values


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
