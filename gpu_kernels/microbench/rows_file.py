"""The measurement file: rows are appended as they are taken, and what is there is not redone."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from gpu_kernels.microbench.measure import PARAMETERS, RESULTS
from hw_models.problems import Problem, SpecError

SAME = ("device", "driver", "torch", "triton")
"""Columns that must not change within one file."""


class RowsFile:
    """A CSV file of rows; `source` holds the provenance columns that every row gets."""

    def __init__(self, path: Path, source: dict[str, str], *, resume: bool) -> None:
        self._path = path
        self._source = source
        self._columns = PARAMETERS + RESULTS + list(source)
        self._done: set[tuple[str, ...]] = set()
        if path.exists():
            if not resume:
                raise SpecError(Problem("exists already: --resume adds what is missing to it",
                                        file=str(path)))
            self._read()
        else:
            with path.open("w", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, self._columns).writeheader()

    def _read(self) -> None:
        with self._path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != self._columns:
                raise SpecError(Problem("was written with other columns: start a new file",
                                        file=str(self._path)))
            for line, row in enumerate(reader, start=2):
                for name in SAME:
                    if row[name] != self._source[name]:
                        raise SpecError(Problem(
                            f"was measured with {name} {row[name]}, here it is"
                            f" {self._source[name]}: start a new file",
                            file=str(self._path), line=line))
                self._done.add(tuple(row[name] for name in PARAMETERS))

    def has(self, parameters: dict[str, str]) -> bool:
        """Return whether a row with exactly these parameters is there."""
        return tuple(parameters[name] for name in PARAMETERS) in self._done

    def add(self, row: dict[str, Any]) -> None:
        """Append a row; it is on the disk when this returns."""
        with self._path.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self._columns).writerow(row | self._source)
        self._done.add(tuple(str(row[name]) for name in PARAMETERS))
