"""Runs of any size for benchmarks of reports: a real run, repeated with other sizes and costs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from santa_sim.report.tables import ReportTables
from santa_sim.study import run_study

COPIED = ("points", "operations", "streams", "energy", "busy")
COPIES_PER_BATCH, COPIES_AT_A_TIME = 40, 200


def large_run(study: str, rows: int) -> ReportTables:
    """Return at least `rows` result rows: copies of the run of a study, each a context of its own.

    Costs and errors of a copy are those of the run times a factor per copy and row within 0.5..2,
    so that no two points are alike; details keep their shares.
    """
    base = run_study(study).report_tables({}, "")
    copies = range(math.ceil(rows / len(base.points)))
    more = {
        name: _copies(frame, base, copies) if "point" in frame.columns else frame
        for name, frame in base.more.items()
    }
    return replace(
        base, more=more, **{name: _copies(getattr(base, name), base, copies) for name in COPIED}
    )


def write_large_run(study: str, rows: int, folder: Path) -> int:
    """Write such a run as the tables of a finished study, piece by piece; return its rows."""
    base = run_study(study).report_tables({}, "")
    total = math.ceil(rows / len(base.points))
    for name in COPIED:
        path = folder / f"{'results' if name == 'points' else name}.parquet"
        writer = None
        for first in range(0, total, COPIES_AT_A_TIME):
            copies = range(first, min(first + COPIES_AT_A_TIME, total))
            frame = _copies(getattr(base, name), base, copies)
            if name == "points":
                frame = frame.assign(status="ok", error="")
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table, row_group_size=100_000)
        if writer is not None:
            writer.close()
    base.constants.to_parquet(folder / "constants.parquet", index=False)
    (folder / "study.yaml").write_text("", encoding="utf-8")
    words = {"name": base.study_name, "title": base.title, "question": base.question}
    (folder / "provenance.json").write_text(json.dumps({"study": words}), encoding="utf-8")
    return total * len(base.points)


def _copies(frame: pd.DataFrame, base: ReportTables, copies: range) -> pd.DataFrame:
    points = base.points["point"].nunique()
    copy = np.repeat(np.arange(copies.start, copies.stop), len(frame))
    long = pd.concat([frame] * len(copies), ignore_index=True)
    factor = 2.0 ** (np.sin(1.0 + copy * 0.7 + (long["point"].to_numpy() % 37) * 1.3))
    for column in frame.columns:
        if column.endswith(("_j", "_s")) or column.startswith("rel_error"):
            long[column] = long[column].astype("float64") * factor
    long["point"] = long["point"].to_numpy() + copy * points
    if {"context", "source"} <= set(frame.columns):
        long["context"] = long["context"].to_numpy() + 64 * (copy % COPIES_PER_BATCH)
        long["batch"] = 1 + copy // COPIES_PER_BATCH
        capture = long["source"].str.startswith("capture").fillna(False)
        # layers of a capture would be averaged into one case; these are points of their own
        long.loc[capture, "source"] = "synthetic " + long.loc[capture, "dataset"]
    return long
