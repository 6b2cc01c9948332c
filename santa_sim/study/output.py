"""The output folder: checked before the work starts, filled in one go after it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hw_models.problems import Problem, SpecError
from hw_models.strict_yaml import check_name
from santa_sim.study.spec import Study

if TYPE_CHECKING:
    import pandas as pd

    from santa_sim.study.run import StudyResult

RESULTS = ("results.parquet", "results.csv")
STUDY = "study.yaml"
PROVENANCE = "provenance.json"
REPORT = "report.html"
DETAILS = ("operations", "streams", "energy", "constants")
FILES = (*RESULTS, *(f"{name}.parquet" for name in DETAILS), STUDY, PROVENANCE, REPORT)


class OutputFolder:
    """A folder that either gets all files of a run or none.

    Entering makes a hidden folder beside the target, so that a place which cannot be written is
    known before the work starts; `publish` moves its files over. Leaving removes what was not
    published. Raises `SpecError` if the place cannot be written, at the start or later.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._staging: Path | None = None
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        check_name(str(self.path))
        try:
            if os.path.lexists(self.path) and not self.path.is_dir():
                raise NotADirectoryError(20, "is not a folder")
            for name in FILES:
                if (self.path / name).is_dir():
                    raise IsADirectoryError(21, f"{name} in it is a folder")
            made = self.path if self.path.is_dir() else self.path.parent
            self._made = [p for p in (made, *made.parents) if not p.exists()]
            made.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.", dir=made))
        except OSError as error:
            self._clear()
            raise self._fault(error) from None
        return self

    def _fault(self, error: OSError) -> SpecError:
        reason = os.strerror(error.errno) if error.errno and not error.strerror else error.strerror
        return SpecError(
            Problem(f"cannot write the output folder: {reason or error}", str(self.path))
        )

    def _clear(self) -> None:
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
        for folder in self._made:
            with suppress(OSError):  # it holds something by now
                folder.rmdir()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clear()
        if isinstance(value, OSError):  # the disk is full, or the folder went away
            raise self._fault(value) from None

    @property
    def staging(self) -> Path:
        """The hidden folder to write into."""
        if self._staging is None:
            raise RuntimeError("the output folder has not been entered")
        return self._staging

    def publish(self) -> None:
        """Move what was written to its place; files of an earlier run go, others stay."""
        self.path.mkdir(exist_ok=True)
        self._made = []
        with _alone_in(self.path):
            for name in FILES:
                if (self.staging / name).exists():
                    (self.staging / name).replace(self.path / name)
                else:
                    (self.path / name).unlink(missing_ok=True)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep another run that publishes into the same folder waiting, so that files never mix."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


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
