"""Where and when a study ran, with which versions: all that result tables must not hold."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import santa_sim
from santa_sim.study.load import LoadedStudy

PACKAGES = (
    "santa_sim", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "plotly", "pydantic",
    "simpy",
)


def provenance(
    loaded: LoadedStudy, *, command: str, started: datetime, engine: str, jobs: int
) -> dict[str, object]:
    """Return a nested, JSON-able record of one run that ends now.

    command: as the user typed it. started: when, with a time zone. engine, jobs: where it ran.
    """
    return {
        "study": {
            "name": loaded.study.name, "title": loaded.study.title,
            "question": loaded.study.question,
            "file": str(loaded.file), "overrides": list(loaded.overrides),
            "sha256": hashlib.sha256(loaded.text.encode()).hexdigest(), "text": loaded.text,
            "seeds": loaded.study.seeds.model_dump(exclude_none=True),
        },
        "inputs": {
            "datasets": {d.name + f" n={d.context}": d.content for d in loaded.datasets},
            "accelerators": {
                a.name: hashlib.sha256(a.model_dump_json().encode()).hexdigest()
                for a in loaded.accelerators
            },
        },
        **run_record(command=command, started=started, engine=engine, jobs=jobs),
    }


def run_record(
    *, command: str, started: datetime, engine: str, jobs: int
) -> dict[str, object]:
    """Return what a record says of any run: when, by which code, on which machine."""
    now = datetime.now(UTC)
    return {
        "run": {
            "command": command, "engine": engine, "jobs": jobs,
            "started": started.astimezone(UTC).isoformat(timespec="seconds"),
            "seconds": round((now - started).total_seconds(), 3),
        },
        "code": {**git_state(Path(santa_sim.__file__).parent), "packages": _versions()},
        "machine": {
            "python": platform.python_version(), "platform": platform.platform(),
            "processor": _processor(), "cores": os.cpu_count(),
        },
    }


def git_state(folder: Path) -> dict[str, object]:
    """Return commit and whether files differ from it; None where `folder` is in no git clone."""
    commit = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", ".")
    return {"git_commit": commit, "git_modified": None if commit is None else bool(changed)}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603  the arguments are constants of this module
            ["git", "-C", str(folder), *arguments],  # noqa: S607  git is wherever the user has it
            capture_output=True, text=True, timeout=10, check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
