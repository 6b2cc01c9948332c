"""A finished run, read back from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hw_models.problems import Problem, SpecError
from santa_sim.report.tables import ReportTables

if TYPE_CHECKING:
    import pandas as pd

POINTS = "results"
TABLES = ("operations", "streams", "energy", "busy", "constants")
RECORD, STUDY = "provenance.json", "study.yaml"


def load_run(folder: Path) -> ReportTables:
    """Return the tables of a run, as `python -m santa_sim.study` wrote them.

    Parquet files beside them become `ReportTables.more`. Raises `SpecError` naming the file that
    is missing or cannot be read.
    """
    if not folder.is_dir():
        raise SpecError(Problem("is not the folder of a run", str(folder)))
    frames = {name: _frame(folder / f"{name}.parquet") for name in (POINTS, *TABLES)}
    more = {
        path.stem: _frame(path) for path in sorted(folder.glob("*.parquet"))
        if path.stem not in frames
    }
    record, text = _record(folder / RECORD), _text(folder / STUDY)
    name, title, question = _words(record, folder / RECORD)
    points = frames.pop(POINTS)
    if "status" not in points:
        raise SpecError(Problem("lacks the column status: is no table of points",
                                str(folder / f"{POINTS}.parquet")))
    done = points[points["status"] == "ok"].reset_index(drop=True)
    if done.empty:
        raise SpecError(Problem("holds no point that could be computed", str(folder)))
    try:
        return ReportTables(
            title=title, question=question, study_name=name,
            points=done, notes=[str(note) for note in record.get("notes", ())],
            provenance=record, study_text=text, more=more, **frames,
        )
    except ValueError as error:  # a run of another version
        raise SpecError(Problem(str(error), str(folder))) from None


def _frame(path: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    try:
        return pd.read_parquet(path, engine="pyarrow")
    except FileNotFoundError:
        raise SpecError(Problem(
            "is not there; a run is a folder that `python -m santa_sim.study` has finished",
            str(path),
        )) from None
    except (OSError, pa.ArrowException) as error:
        raise SpecError(Problem(f"cannot be read: {str(error).splitlines()[0]}", str(path))
                        ) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError(Problem("is not there", str(path))) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(Problem(f"cannot be read: {error}", str(path))) from None


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise SpecError(Problem(f"is no JSON: {error.msg}", str(path), error.lineno)) from None
    if not isinstance(record, dict):
        raise SpecError(Problem("holds no provenance", str(path)))
    return record


def _words(record: dict[str, Any], path: Path) -> tuple[str, str, str]:
    study = record.get("study")
    words = [study.get(key) for key in ("name", "title", "question")] if isinstance(
        study, dict) else [None]
    if not all(isinstance(word, str) for word in words):
        raise SpecError(Problem("does not say name, title and question of the study", str(path)))
    name, title, question = map(str, words)
    return name, title, question
