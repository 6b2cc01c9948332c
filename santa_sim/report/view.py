"""The tables of a study, prepared for reading: cases, mean rows, and which ones to speak about.

A *case* is what a figure shows at a time: one context length of one source. Datasets of a capture
that share a context (its layers and tokens) are averaged into one case; each synthetic law is a
case of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from santa_sim.methods.spec import METHOD_NAMES
from santa_sim.report.tables import ACCOUNTS, POINT_COLUMNS, ReportTables

if TYPE_CHECKING:
    import pandas as pd

ERROR_BUDGET = 0.10
"""The relative error up to which the report calls a method usable."""
BUDGET_TEXT = f"{100 * ERROR_BUDGET:g} %"

ZERO = (0.0, 0.0, 0.0)
Row = dict[str, Any]
"""Means of one method in one case on one accelerator, by column."""

_TEXT = frozenset({
    "source", "dataset", "geometry", "dtype", "method", "score_stage", "value_stage", "offsets",
    "accelerator", "accelerator_title", "fits", "misfit", "bound",
})
_FIXED = ("method", "score_stage", "value_stage", "offsets", "accelerator", "accelerator_title")


def family(score_stage: str, value_stage: str) -> str:
    """Return the method family that a colour stands for; ternary queries are one of their own."""
    return value_stage if score_stage == "exact" else "bernoulli_qk"


@dataclass(frozen=True)
class Case:
    """One context length of one source; `datasets` of them are averaged.

    attention: what all contexts and batches of the source share; `label` adds those two.
    """

    number: int
    label: str
    attention: str
    is_capture: bool
    context: int
    batch: int
    datasets: int


@dataclass(frozen=True)
class View:
    """Prepared tables; every mean is over the datasets of a case with equal weight."""

    tables: ReportTables

    @cached_property
    def points(self) -> pd.DataFrame:
        """Points with the columns `case` (number) and `family`, in the order of methods."""
        import pandas as pd

        frame = self.tables.points.loc[:, list(POINT_COLUMNS)].copy()
        for column in frame.columns:
            if column not in _TEXT:
                frame[column] = pd.to_numeric(frame[column], errors="coerce").astype("float64")
        for column in _TEXT - {"fits"}:
            frame[column] = frame[column].astype(object).where(frame[column].notna(), "")
            frame[column] = frame[column].astype(str)
        frame["fits"] = frame["fits"].astype(bool)
        frame["family"] = [
            family(s, v) for s, v in zip(frame["score_stage"], frame["value_stage"], strict=True)
        ]
        frame["case"] = self._case_numbers(frame)
        order = {name: i for i, name in enumerate(METHOD_NAMES)}
        frame["_value"] = frame["value_stage"].map(order).fillna(len(order))
        frame["_score"] = (frame["score_stage"] != "exact").astype(int)
        frame["_first"] = range(len(frame))
        by = ["case", "_score", "_value", "trials", "samples_requested", "tile", "method", "_first"]
        frame = frame.sort_values(by, kind="stable", na_position="first")
        return frame.drop(columns=["_value", "_score", "_first"]).reset_index(drop=True)

    @staticmethod
    def _case_numbers(frame: pd.DataFrame) -> pd.Series:
        """Number cases: captures first, each source in order of appearance, contexts ascending."""
        import pandas as pd

        capture = frame["source"].str.startswith("capture")
        law = frame["dataset"].where(~capture, "")
        seen = {name: i for i, name in enumerate(dict.fromkeys(zip(frame["source"], law,
                                                                  strict=True)))}
        keys = list(zip(
            ~capture, [seen[k] for k in zip(frame["source"], law, strict=True)],
            frame["context"], frame["batch"], frame["geometry"], frame["dtype"], strict=True,
        ))
        number = {key: i for i, key in enumerate(sorted(set(keys)))}
        return pd.Series([number[key] for key in keys], index=frame.index)

    @cached_property
    def cases(self) -> list[Case]:
        """All cases, captures first, contexts ascending within a source."""
        found = []
        for number, rows in self.points.groupby("case"):
            first = rows.iloc[0]
            datasets = rows["dataset"].nunique()
            capture = first["source"].startswith("capture")
            name = first["dataset"] if first["dataset"] and not (capture and datasets > 1) else (
                first["source"].removeprefix("capture ").removeprefix("synthetic ")
            )
            kind = "real" if capture else "synthetic"
            source = first["source"].removeprefix("capture ").removeprefix("synthetic ")
            attention = f"{kind} {source if capture else first['dataset'] or source}"
            label = f"{kind} {name}, {int(first['context']):,} tokens"
            if first["batch"] > 1:
                label += f", batch {int(first['batch'])}"
            if datasets > 1:
                label += f" (mean of {datasets} datasets)"
            found.append(Case(
                int(str(number)), label, attention, capture, int(first["context"]),
                int(first["batch"]), datasets,
            ))
        shown = [(c.attention, c.context, c.batch) for c in found]
        if len({c.label for c in found}) < len(found) or len(set(shown)) < len(shown):
            # equal but for geometry or dtype
            details = [self._detail(c.number) for c in found]
            found = [
                replace(c, label=f"{c.label}, {detail}", attention=f"{c.attention}, {detail}")
                for c, detail in zip(found, details, strict=True)
            ]
        return found

    def _detail(self, number: int) -> str:
        first = self.points[self.points["case"] == number].iloc[0]
        return f"{first['geometry']} {first['dtype']}"

    @cached_property
    def accelerators(self) -> dict[str, str]:
        """Accelerator name -> title, in the order of the study."""
        points = self.tables.points
        return dict(zip(points["accelerator"].astype(str), points["accelerator_title"].astype(str),
                        strict=True))

    @cached_property
    def accounts(self) -> dict[str, tuple[str, ...]]:
        """Accelerator name -> its accounts, from the narrow to the wide boundary."""
        given = self.points.groupby("accelerator")[[f"{a}_energy_j" for a in ACCOUNTS]].count()
        return {
            name: tuple(a for a in ACCOUNTS if given.loc[name, f"{a}_energy_j"])
            for name in self.accelerators
        }

    def account_of(self, accelerator: str) -> str:
        """Return the account by which methods are ranked here: the widest that there is."""
        return (self.accounts[accelerator] or ACCOUNTS)[-1]

    @cached_property
    def means(self) -> pd.DataFrame:
        """One row per case, method and accelerator: means over datasets; fits only if all do."""
        keys = ["case", *_FIXED, "family"]
        numbers = [c for c in POINT_COLUMNS if c not in _TEXT and c != "point"]
        groups = self.points.groupby(keys, sort=False, dropna=False)
        means = groups[numbers].mean()
        means["fits"] = groups["fits"].all()
        means["misfit"] = groups["misfit"].agg(lambda texts: next((t for t in texts if t), ""))
        means["bound"] = groups["bound"].agg(lambda b: ", ".join(dict.fromkeys(t for t in b if t)))
        # a mean over the datasets that happen to fit is no mean of the case
        costs = [c for c in numbers if c.endswith(("_j", "time_s", "_s"))]
        means.loc[~means["fits"], costs] = float("nan")
        return means.reset_index()

    @cached_property
    def _records(self) -> dict[tuple[int, str], dict[str, Row]]:
        columns = self.means.to_dict("list")
        names = [str(name) for name in columns]
        found: dict[tuple[int, str], dict[str, Row]] = {}
        for values in zip(*columns.values(), strict=True):
            row = dict(zip(names, values, strict=True))
            found.setdefault((row["case"], row["accelerator"]), {})[row["method"]] = row
        return found

    def rows(self, case: Case, accelerator: str | None = None) -> dict[str, Row]:
        """Return method -> mean row, in the order of display.

        Without an accelerator, the first row of each method: for what no accelerator changes.
        """
        if accelerator is not None:
            return self._records.get((case.number, accelerator), {})
        first: dict[str, Row] = {}
        for name in self.accelerators:
            for method, row in self.rows(case, name).items():
                first.setdefault(method, row)
        return first

    @cached_property
    def _methods(self) -> dict[int, list[str]]:
        return {case.number: list(self.rows(case)) for case in self.cases}

    def methods(self, case: Case) -> list[str]:
        """Method labels of a case in the order of display."""
        return self._methods[case.number]

    @cached_property
    def streams(self) -> pd.DataFrame:
        """Bytes by case, method, tensor and level: mean over the datasets of a case."""
        return self._sums("streams", ["tensor", "level"], [
            "logical_bytes", "unique_bytes", "moved_bytes", "workspace_bytes",
        ])

    @cached_property
    def operations(self) -> pd.DataFrame:
        """Counts by case, accelerator, method, phase, kind and dtype."""
        return self._sums("operations", ["accelerator", "phase", "kind", "dtype"], ["count"])

    @cached_property
    def energy(self) -> pd.DataFrame:
        """Joules by case, accelerator, account, method, part, boundary and constant.

        Only where all datasets of the case fit.
        """
        return self._where_it_fits(self._sums(
            "energy", ["accelerator", "account", "part", "boundary", "constant"],
            ["low_j", "nominal_j", "high_j"],
        ))

    @cached_property
    def busy(self) -> pd.DataFrame:
        """Busy seconds by case, accelerator, method and resource, where all datasets fit."""
        return self._where_it_fits(self._sums(
            "busy", ["accelerator", "resource"], ["low_s", "nominal_s", "high_s"]
        ))

    def _where_it_fits(self, sums: pd.DataFrame) -> pd.DataFrame:
        fits = self.means.loc[self.means["fits"], ["case", "accelerator", "method"]]
        return sums.merge(fits, on=["case", "accelerator", "method"])

    @cached_property
    def parts(self) -> dict[Any, tuple[float, float, float]]:
        """(case, accelerator, account, part, method) -> low, nominal, high joules."""
        keys = ["case", "accelerator", "account", "part", "method"]
        sums = self.energy.groupby(keys, sort=False)[["low_j", "nominal_j", "high_j"]].sum()
        columns = sums.reset_index().to_dict("list")
        rows = zip(*columns.values(), strict=True)
        return {row[:5]: row[5:] for row in rows}

    @cached_property
    def part_names(self) -> frozenset[str]:
        """The parts of all energies."""
        return frozenset(key[3] for key in self.parts)

    def _sums(self, table: str, keys: list[str], values: list[str]) -> pd.DataFrame:
        """Return sums by case, method and `keys`, divided by the case's datasets."""
        detail: pd.DataFrame = getattr(self.tables, table)[["point", *keys, *values]]
        points = self.points[["point", "case", "method"]].drop_duplicates()
        datasets = points.groupby(["case", "method"])["point"].nunique().rename("datasets")
        joined = detail.merge(points, on="point", validate="many_to_one")
        joined[values] = joined[values].astype("float64")
        by = ["case", "method", *keys]
        sums = joined.groupby(by, sort=False)[values].sum().reset_index()
        sums = sums.merge(datasets.reset_index(), on=["case", "method"])
        sums[values] = sums[values].div(sums["datasets"], axis=0)
        return sums.drop(columns="datasets")
