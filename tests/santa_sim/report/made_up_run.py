"""A made-up study in a folder, as a run leaves it."""

import json
from dataclasses import replace
from pathlib import Path

from santa_sim.report.tables import ReportTables


def write_run(tables: ReportTables, folder: Path) -> ReportTables:
    """Write the tables as a run does; return them with the provenance that was written."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = dict.fromkeys(("samples_requested", "trials", "tile"), "Int64")
    points = tables.points.astype(whole).assign(status="ok", error="")
    points.to_parquet(folder / "results.parquet", index=False)
    for name in ("operations", "streams", "energy", "busy", "constants"):
        getattr(tables, name).to_parquet(folder / f"{name}.parquet", index=False)
    record = {
        **tables.provenance, "notes": tables.notes,
        "study": {"name": tables.study_name, "title": tables.title, "question": tables.question},
    }
    (folder / "provenance.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "study.yaml").write_text(tables.study_text, encoding="utf-8")
    return replace(tables, provenance=record)
