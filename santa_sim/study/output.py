"""The output folder: locked and checked before the work starts, filled in one go after it.

Beside the files of a finished run it holds `.run`: the log of finished points, from which an
interrupted run goes on, the lock, and what the last finished run was.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hw_models.pipeline.perfetto import write_events
from hw_models.problems import Problem, SpecError
from hw_models.strict_yaml import check_name
from santa_sim.study.result_log import ResultLog, sound_keys
from santa_sim.study.run_lock import RunLock
from santa_sim.study.spec import Study

if TYPE_CHECKING:
    import pandas as pd

    from santa_sim.study.run import StudyResult

RESULTS = ("results.parquet", "results.csv")
STUDY = "study.yaml"
PROVENANCE = "provenance.json"
REPORT = "report.html"
DETAILS = ("operations", "streams", "energy", "busy", "constants")
EVENT = ("events", "event_tracks", "event_steps")
TIMELINE = "timeline.json"
MEASURED = ("kernel_times", "validation", "validation_bytes", "validation_energy", "fitted_parts",
            "kernel_ratios")
"""Only where an accelerator has a calibration, or is a GPU known by its datasheet."""
FILES = (
    *RESULTS, *(f"{name}.parquet" for name in (*DETAILS, *EVENT, *MEASURED)), TIMELINE, STUDY,
    PROVENANCE, REPORT,
)
STATE = ".run"
_LOG, _LOCK, _FINISHED, _STAGING = "points.log", "lock", "finished.json", "staging"


class OutputFolder:
    """A folder that either gets all files of a run or none, and keeps the points in between.

    Entering makes the folder and takes its lock, so that a place which cannot be written, or where
    another runner works, is known before the work starts. `publish` moves files from `staging` to
    their place. Leaving gives the lock back, and takes away again what holds no point.
    Raises `SpecError` if the place cannot be written, at the start or later.

    log: of finished points. recovered: whose lock was left behind, if any.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = path / STATE
        self._made: list[Path] = []
        self._held = ExitStack()
        self._locked = self._published = False
        self.log: ResultLog
        self.recovered = ""

    def __enter__(self) -> Self:
        check_name(str(self.path))
        try:
            self._refuse_what_is_in_the_way()
        except OSError as error:
            raise self._fault(error) from None
        try:
            self._made = [
                p for p in (self._state, self.path, *self.path.parents) if not os.path.lexists(p)
            ]
            self._state.mkdir(parents=True, exist_ok=True)
            lock = RunLock(self._state / _LOCK)
            lock.take()
            self._locked = True
            self._held.callback(lock.release)
            self.recovered = lock.recovered
            shutil.rmtree(self.staging, ignore_errors=True)
            self.staging.mkdir()
            self.log = self._held.enter_context(ResultLog(self._state / _LOG))
        except OSError as error:
            self._leave()
            raise self._fault(error) from None
        except BaseException:  # a signal, or a runner that was here first
            self._leave()
            raise
        return self

    def _refuse_what_is_in_the_way(self) -> None:
        if os.path.lexists(self.path) and not self.path.is_dir():
            raise NotADirectoryError(20, "is not a folder")
        for name in FILES:
            if (self.path / name).is_dir():
                raise IsADirectoryError(21, f"{name} in it is a folder")
        if self._state.is_symlink() or (self._state / _STAGING).is_symlink():
            raise NotADirectoryError(20, f"{STATE} in it is a link")

    def _fault(self, error: OSError) -> SpecError:
        reason = os.strerror(error.errno) if error.errno and not error.strerror else error.strerror
        return SpecError(
            Problem(f"cannot write the output folder: {reason or error}", str(self.path))
        )

    def _leave(self) -> None:
        if self._locked:  # otherwise no file in it is ours
            self._tidy()
        for folder in () if self._published else self._made:
            with suppress(OSError):  # it holds something
                folder.rmdir()
        self._held.close()

    def _tidy(self) -> None:
        shutil.rmtree(self.staging, ignore_errors=True)
        worthless = not self._published and not len(getattr(self, "log", ()))
        if worthless and self._state in self._made:
            for name in (_LOG, _LOCK):
                with suppress(OSError):
                    (self._state / name).unlink()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()
        if isinstance(value, OSError):  # the disk is full, or the folder went away
            raise self._fault(value) from None

    @property
    def staging(self) -> Path:
        """The hidden folder to write into."""
        return self._state / _STAGING

    def finished(self, identity: str) -> bool:
        """Return whether the folder holds this study, finished (see `is_finished`)."""
        return is_finished(self.path, identity)

    def publish(self, identity: str | None) -> None:
        """Move what was written to its place; files of an earlier run go, others stay.

        identity: of the study, if every point of it could be computed.
        """
        (self._state / _FINISHED).unlink(missing_ok=True)
        files = {}
        for name in FILES:
            if (self.staging / name).exists():
                files[name] = _sha256(self.staging / name)
                (self.staging / name).replace(self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)
        self._published = True
        if identity is not None:
            record = self.staging / _FINISHED
            record.write_text(json.dumps({"identity": identity, "files": files}, indent=1))
            record.replace(self._state / _FINISHED)


def is_finished(folder: Path, identity: str) -> bool:
    """Return whether a folder holds all that the study of this identity would write.

    A file that was damaged, changed or removed since makes it unfinished.
    """
    try:
        record = json.loads((folder / STATE / _FINISHED).read_text(encoding="utf-8"))
        return bool(record["identity"] == identity) and bool(record["files"]) and all(
            name in FILES and _sha256(folder / name) == known
            for name, known in record["files"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def known_points(folder: Path) -> frozenset[str]:
    """Return the identities of the points that a run folder holds, without touching it."""
    try:
        return sound_keys((folder / STATE / _LOG).read_bytes())
    except OSError:
        return frozenset()


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_tables(result: StudyResult, folder: Path) -> None:
    """Write the result tables, byte for byte the same for the same results.

    The results of a wide study are Parquet alone: as text they would fill gigabytes.
    """
    if result.wide is not None:
        result.wide.write(folder / RESULTS[0])
    else:
        _parquet(result.tables.points, folder / RESULTS[0])
        result.tables.points.to_csv(folder / RESULTS[1], index=False, lineterminator="\n")
    for name in DETAILS:
        _parquet(getattr(result.tables, name), folder / f"{name}.parquet")
    if result.event is not None:
        for name in EVENT:
            _parquet(result.event.tables[name], folder / f"{name}.parquet")
        write_events(result.event.trace, folder / TIMELINE)
    for name, frame in result.measured.items():
        _parquet(frame, folder / f"{name}.parquet")


def _parquet(frame: pd.DataFrame, path: Path) -> None:
    frame.to_parquet(path, engine="pyarrow", index=False, compression="zstd")


def study_text(study: Study) -> str:
    """Return the resolved study as YAML that runs again to the same results."""
    said = study.model_dump(mode="json", exclude_none=True)
    if study.level != "event":
        del said["event"]
    return yaml_text(said)


def yaml_text(data: Any) -> str:
    """Return plain data as YAML, keys in their order."""
    from io import StringIO

    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 100
    text = StringIO()
    yaml.dump(_plain(data), text)
    return text.getvalue()


def _plain(data: Any) -> Any:
    """Drop nothing and reorder nothing: only tuples and mappings that YAML cannot name."""
    return json.loads(json.dumps(data))


def write_record(provenance: dict[str, object], resolved: str, folder: Path) -> None:
    """Write the resolved study and the provenance."""
    (folder / STUDY).write_text(resolved, encoding="utf-8")
    record = json.dumps(provenance, indent=2, ensure_ascii=False)
    (folder / PROVENANCE).write_text(record + "\n", encoding="utf-8")
