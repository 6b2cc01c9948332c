"""Reading npz files from strangers: no pickle, and one clear line for each way a file is broken."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from hw_models.strict_yaml import Problem, SpecError, check_name

_ZIP_MAGIC = b"PK\x03\x04"


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return every array of an npz by name.

    Raises `SpecError` naming the file, and the array where one is at fault, if the file is missing,
    not an npz, truncated or damaged, or holds pickled objects (which are never unpickled).
    """
    check_name(str(path))
    try:
        if path.exists() and not path.is_file():  # to open a pipe would wait for ever
            raise SpecError(Problem("cannot read: is not a regular file", str(path)))
        with path.open("rb") as file:
            magic = file.read(len(_ZIP_MAGIC))
    except OSError as error:
        raise SpecError(Problem(f"cannot read: {error.strerror or error}", str(path))) from None
    if magic != _ZIP_MAGIC:
        kind = "a pickle" if magic[:1] == b"\x80" else "not an npz file"
        raise SpecError(Problem(f"is {kind}; write captures with numpy.savez", str(path)))
    try:
        # given a path, NumPy leaves the file open if the archive is broken
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: _read_one(path, archive, name) for name in archive.files}
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise SpecError(
            Problem(f"npz is truncated or damaged: {_one_line(error)}", str(path))
        ) from None


def _read_one(path: Path, archive: NpzFile, name: str) -> NDArray[Any]:
    try:
        array = archive[name]
    except ValueError as error:
        pickled = "pickle" in str(error)
        reason = "holds pickled objects, which are not read" if pickled else _one_line(error)
        raise SpecError(Problem(reason, str(path), path=(name,))) from None
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, MemoryError, NotImplementedError,
            RuntimeError) as error:
        raise SpecError(
            Problem(f"array is truncated or damaged: {_one_line(error)}", str(path), path=(name,))
        ) from None
    if not isinstance(array, np.ndarray):
        raise SpecError(Problem("is not a NumPy array", str(path), path=(name,)))
    # files of other machines and of MATLAB habits: kernels want this machine's bytes, rows last
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def read_json_text(path: Path, arrays: dict[str, NDArray[Any]], name: str) -> object:
    """Return the JSON that a 0-axis text array holds; raises `SpecError` if it does not."""
    if name not in arrays:
        raise SpecError(Problem("array is missing (a JSON text)", str(path), path=(name,)))
    text = arrays[name]
    if text.ndim != 0 or text.dtype.kind != "U":
        raise SpecError(
            Problem(
                f"must be one text (0 axes), got {text.dtype} with {text.ndim} axes",
                str(path), path=(name,),
            )
        )
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise SpecError(
            Problem(f"is not valid JSON: {_one_line(error)}", str(path), path=(name,))
        ) from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
