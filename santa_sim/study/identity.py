"""Content hashes: what decides a result, written out as text and hashed, in small visible steps.

counts of a point = data + method + level + seeds + code that counts;
costs of a point = its counts + accelerator + code that costs;
a study = the costs of all its points + its words + the code of the package.
So a changed energy constant leaves every count what it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import hw_models
import santa_sim
from hw_models.accelerator import Accelerator

_ROOTS = {"santa_sim": santa_sim, "hw_models": hw_models}

COUNTING = (
    "santa_sim/methods", "santa_sim/kernels", "santa_sim/data", "santa_sim/rng.py",
    "santa_sim/storage.py", "santa_sim/study/arithmetic.py", "santa_sim/study/datasets.py",
    "santa_sim/study/point.py", "santa_sim/study/precision.py", "hw_models/entries.py",
    "hw_models/ledger.py",
)
"""The code that draws, counts and takes errors; what it does not hold cannot change a count."""
EVERYTHING = ("santa_sim", "hw_models")
NUMERIC_LIBRARIES = ("numba", "llvmlite", "numpy", "scipy")
"""Libraries whose next release may change the last digit of a result."""


def canonical(value: Any) -> str:
    """Return JSON that is equal for equal values: keys sorted, nothing optional, floats exact."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False,
                      allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON-able value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


@cache
def code_version(parts: tuple[str, ...]) -> str:
    """Return one hash of source files: modules and packages such as `santa_sim/methods`."""
    found = hashlib.sha256()
    for part in parts:
        root, _, below = part.partition("/")
        place = Path(str(_ROOTS[root].__file__)).parent / below
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            found.update(f"{part}/{file.relative_to(place).as_posix()}\n".encode())
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


@cache
def library_versions() -> dict[str, str | None]:
    """Return the versions of the numeric libraries, None for one that is not installed."""
    found: dict[str, str | None] = {}
    for name in NUMERIC_LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


@cache
def counting_version() -> str:
    """Return the hash of all code that decides counts and errors, libraries included."""
    return digest({"code": code_version(COUNTING), "libraries": library_versions()})


def counts_identity(data: str, method: Any, level: str, sampling: dict[str, Any]) -> str:
    """Return the hash of all that decides what a method does on a dataset.

    data: identity of the dataset's numbers; method: a checked method; level: of fidelity;
    sampling: seeds and their stopping rule, empty where nothing is random.
    """
    return digest({
        "data": data, "method": method.model_dump(mode="json"), "level": level,
        "sampling": sampling, "code": counting_version(),
    })


def accelerator_identity(accelerator: Accelerator) -> str:
    """Return the hash of every constant and rule of an accelerator, sources included."""
    return hashlib.sha256(accelerator.model_dump_json().encode()).hexdigest()


def study_identity(
    resolved: str, counts: Iterable[str], accelerators: Iterable[Accelerator]
) -> str:
    """Return the hash of all that decides what a finished run folder holds.

    resolved: the study as text, every grid spelt out; counts: identities of its points in order.
    """
    return digest({
        "study": resolved, "counts": list(counts),
        "accelerators": [accelerator_identity(a) for a in accelerators],
        "code": code_version(EVERYTHING),
    })
