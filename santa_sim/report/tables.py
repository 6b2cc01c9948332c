"""What a study hands to its report: tables of results, and the words around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

ACCOUNTS: tuple[str, ...] = ("device", "board")
"""Energy accounts, from the narrow to the wide boundary."""

POINT_COLUMNS: tuple[str, ...] = (
    "point", "source", "dataset", "geometry", "layer", "context", "batch", "num_qo_heads",
    "num_kv_heads", "head_dim", "dtype", "method", "score_stage", "value_stage",
    "samples_requested", "samples_effective", "trials", "tile", "offsets", "seeds",
    "rel_error", "rel_error_low", "rel_error_high", "unique_row_fraction",
    "k_bytes", "v_bytes", "q_out_bytes", "workspace_bytes", "logical_bytes", "unique_bytes",
    "moved_bytes", "kv_cache_bytes", "multiplies", "adds",
    "accelerator", "accelerator_title", "fits", "misfit",
    "time_s", "time_low_s", "time_high_s", "time_no_overlap_s", "bound",
    *(f"{account}_energy_{end}" for account in ACCOUNTS for end in ("j", "low_j", "high_j")),
)
OPERATION_COLUMNS: tuple[str, ...] = ("point", "accelerator", "phase", "kind", "dtype", "count")
STREAM_COLUMNS: tuple[str, ...] = (
    "point", "tensor", "level", "direction", "pattern",
    "logical_bytes", "unique_bytes", "moved_bytes", "workspace_bytes",
)
ENERGY_COLUMNS: tuple[str, ...] = (
    "point", "accelerator", "account", "part", "boundary", "constant", "low_j", "nominal_j",
    "high_j",
)
BUSY_COLUMNS: tuple[str, ...] = (
    "point", "accelerator", "resource", "low_s", "nominal_s", "high_s",
)
CONSTANT_COLUMNS: tuple[str, ...] = (
    "accelerator", "path", "value", "low", "high", "unit", "boundary", "source", "confidence",
    "unverified",
)


@dataclass(frozen=True)
class ReportTables:
    """The tables of one study; every number is per decode step and layer.

    title, question, study_name: words of the study, shown as text (never as HTML).
    notes: what a reader must know before trusting a number, one sentence each.
    provenance: nested and JSON-able: versions, commit, seeds, machine, command, time.
    study_text: the resolved study as YAML.
    points: one row per (point, accelerator); columns `POINT_COLUMNS`. `trials`, `tile`,
        `offsets`, `layer` and `samples_requested` may be missing; operation counts are NaN where
        the accelerator cannot run the method (`fits` false, reason in `misfit`), and so are its
        times and energies. `rel_error_low`/`_high` are the 95 % interval over seeds.
    operations: operation counts as the accelerator runs them (`OPERATION_COLUMNS`); where it
        cannot, as the method asks for them.
    streams: byte streams of each point (`STREAM_COLUMNS`).
    energy: joules by part and boundary, per account, and the path of the constant that each is
        proportional to (`ENERGY_COLUMNS`).
    busy: seconds for which each resource of an accelerator works (`BUSY_COLUMNS`).
    constants: every catalogue number that entered a result (`CONSTANT_COLUMNS`).
    more: further tables of the run by name, for the sections that look for them.

    Raises `ValueError` naming the table and the columns that it lacks.
    """

    title: str
    question: str
    study_name: str
    points: pd.DataFrame
    operations: pd.DataFrame
    streams: pd.DataFrame
    energy: pd.DataFrame
    busy: pd.DataFrame
    constants: pd.DataFrame
    notes: list[str] = field(default_factory=list)
    provenance: dict[str, object] = field(default_factory=dict)
    study_text: str = ""
    more: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = {
            "points": POINT_COLUMNS, "operations": OPERATION_COLUMNS, "streams": STREAM_COLUMNS,
            "energy": ENERGY_COLUMNS, "busy": BUSY_COLUMNS, "constants": CONSTANT_COLUMNS,
        }
        for table, columns in wanted.items():
            missing = [c for c in columns if c not in getattr(self, table).columns]
            if missing:
                raise ValueError(f"table {table} lacks the columns {', '.join(missing)}")
        if self.points.empty:
            raise ValueError("a report needs at least one point, got an empty table points")
