"""The event tables of a study, prepared for reading."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from santa_sim.report.page_data import page_points
from santa_sim.report.view import Row, View

if TYPE_CHECKING:
    import pandas as pd

BUSY = 0.9
"""Share of the time from which on a resource counts as the one that holds a run up."""

_KEYS = ["case", "accelerator", "method"]


@dataclass(frozen=True)
class EventPoint:
    """A method on a kind of attention; its runs are means over the datasets of the case."""

    case: int
    method: str
    label: str


@dataclass(frozen=True)
class EventView:
    """Runs in time, by point and accelerator.

    runs, tracks, steps: of the tables `events`, `event_tracks` and `event_steps`, with the row of
    the page's points that they belong to; means over the datasets of a case, but for steps, which
    are those of its first dataset.
    """

    view: View
    runs: pd.DataFrame
    tracks: pd.DataFrame
    steps: pd.DataFrame

    @staticmethod
    def of(view: View) -> EventView | None:
        """Return the view of a study that ran in time, else None."""
        more = view.tables.more
        if "events" not in more:
            return None
        events = more["events"]
        events = events[events["status"] == "ok"]
        if events.empty:
            return None
        events = events.assign(sizes=[
            ", ".join(str(run).split(", ")[1:]) or "as the accelerator says"
            for run in events["run"]
        ])
        points = page_points(view)[_KEYS]
        numbers = view.points[["point", *_KEYS]].merge(
            points.assign(row=range(len(points))), on=_KEYS
        )
        runs, tracks, steps = (
            numbers.merge(_plain(frame), on=["point", "accelerator"])
            for frame in (events, more["event_tracks"], more["event_steps"])
        )
        first = steps.groupby("row")["point"].transform("min")
        steps = steps[steps["point"] == first]
        return EventView(view, _means(runs, "run"), _means(tracks, "run", "track"), steps)

    @cached_property
    def points(self) -> list[EventPoint]:
        """Points with at least one run, in order."""
        cases = {case.number: case.label for case in self.view.cases}
        found = self.runs[["case", "method"]].drop_duplicates()
        return [
            EventPoint(int(case), str(method), f"{method} on {cases[int(case)]}")
            for case, method in zip(found["case"], found["method"], strict=True)
        ]

    @cached_property
    def accelerators(self) -> dict[str, str]:
        """Accelerator name -> title, of those that ran in time."""
        ran = set(self.runs["accelerator"])
        return {n: title for n, title in self.view.accelerators.items() if n in ran}

    @cached_property
    def _groups(self) -> dict[Any, list[Row]]:
        columns = {str(name): values for name, values in self.runs.to_dict("list").items()}
        found: dict[Any, list[Row]] = {}
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(columns, values, strict=True))
            found.setdefault((row["case"], row["method"], row["accelerator"]), []).append(row)
        return found

    def rows(self, point: EventPoint, accelerator: str) -> list[Row]:
        """Return the runs of one point on one accelerator."""
        return self._groups.get((point.case, point.method, accelerator), [])


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with numbers as float64 and texts as objects, as a mean wants them."""
    import pandas as pd

    return pd.DataFrame({
        name: frame[name].astype("float64") if pd.api.types.is_numeric_dtype(frame[name].dtype)
        else frame[name].astype(object) for name in frame.columns
    }).astype({"point": "int64"})


def _means(frame: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return one line per row of the page and `keys`: means of numbers, the first of texts."""
    how = {
        str(name): "mean" if frame[name].dtype == "float64" else "first"
        for name in frame.columns if name not in ("row", *keys)
    }
    return frame.groupby(["row", *keys], sort=False).agg(how).reset_index()


def holds_up(row: Row) -> str:
    """Return what holds a run up: the busiest resource, or `waiting` if none is busy enough."""
    return str(row["bottleneck"]) if row["bottleneck_share"] >= BUSY else "waiting"


def cheapest(rows: list[Row]) -> Row | None:
    """Return the run with the fewest buffer bytes that keeps the memory busy, or None.

    Of equals the one with the slowest units together, then the fastest run.
    """
    busy = [row for row in rows if row["memory_share"] >= BUSY]
    return min(
        busy, key=lambda r: (r["buffer_bytes"], r["unit_rates"], r["event_time_s"]), default=None
    )
