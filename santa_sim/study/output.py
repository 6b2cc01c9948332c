"""The output folder: checked before the work starts, filled in one go after it."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hw_models.problems import Problem, SpecError
from santa_sim.study.spec import Study

if TYPE_CHECKING:
    import pandas as pd

    from santa_sim.study.run import StudyResult

RESULTS = ("results.parquet", "results.csv")
STUDY = "study.yaml"
PROVENANCE = "provenance.json"
REPORT = "report.html"
DETAILS = ("operations", "streams", "energy", "constants")


class OutputFolder:
    """A folder that either gets all files of a run or none.

    Entering makes a hidden folder beside the target, so that a place which cannot be written is
    known before the work starts; `publish` moves its files over. Raises `SpecError` if the place
    cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._staging: Path | None = None

    def __enter__(self) -> Self:
        try:
            if self.path.exists() and not self.path.is_dir():
                raise NotADirectoryError(20, "is not a folder")
            made = self.path if self.path.is_dir() else self.path.parent
            made.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=made))
        except OSError as error:
            raise SpecError(Problem(
                f"cannot write the output folder: {error.strerror or error}", str(self.path)
            )) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)

    @property
    def staging(self) -> Path:
        """The hidden folder to write into."""
        if self._staging is None:
            raise RuntimeError("the output folder has not been entered")
        return self._staging

    def publish(self) -> None:
        """Move what was written to its place, over files of an earlier run; others stay."""
        self.path.mkdir(exist_ok=True)
        for file in sorted(self.staging.iterdir()):
            file.replace(self.path / file.name)


def write_tables(result: StudyResult, folder: Path) -> None:
    """Write the result tables, byte for byte the same for the same results."""
    _parquet(result.tables.points, folder / RESULTS[0])
    result.tables.points.to_csv(folder / RESULTS[1], index=False, lineterminator="\n")
    for name in DETAILS:
        _parquet(getattr(result.tables, name), folder / f"{name}.parquet")


def _parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, engine="pyarrow", index=False, compression="zstd")


def study_text(study: Study) -> str:
    """Return the resolved study as YAML that runs again to the same results."""
    from io import StringIO

    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 100
    text = StringIO()
    yaml.dump(_plain(study.model_dump(mode="json", exclude_none=True)), text)
    return text.getvalue()


def _plain(data: Any) -> Any:
    """Drop nothing and reorder nothing: only tuples and mappings that YAML cannot name."""
    return json.loads(json.dumps(data))


def write_record(provenance: dict[str, object], resolved: str, folder: Path) -> None:
    """Write the resolved study and the provenance."""
    (folder / STUDY).write_text(resolved, encoding="utf-8")
    record = json.dumps(provenance, indent=2, ensure_ascii=False)
    (folder / PROVENANCE).write_text(record + "\n", encoding="utf-8")
