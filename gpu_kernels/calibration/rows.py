"""Reads measurement files and says what makes them unfit to be compared."""

from __future__ import annotations

import csv
import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hw_models.problems import Problem, SpecError

NEEDED = ("experiment", "kernel", "l2", "time_us", "device", "driver", "timer", "date_utc")


@dataclass(frozen=True)
class Row:
    """One measured point: its cells as text, and the file and line that it is from."""

    cells: dict[str, str]
    file: str
    line: int

    def text(self, name: str) -> str:
        """Return a cell as it stands, blank if the file has no such column."""
        return self.cells.get(name, "")

    def number(self, name: str) -> float:
        """Return a cell as a number; raises `SpecError` if it is blank or no finite number."""
        try:
            value = float(self.cells[name])
        except (KeyError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise SpecError(Problem(f"{name} must be a number, got {self.text(name)!r}",
                                    self.file, self.line))
        return value

    def count(self, name: str, default: int = 0) -> int:
        """Return a whole number, `default` where the cell is blank; raises `SpecError` else."""
        if not self.text(name):
            return default
        value = self.number(name)
        if not value.is_integer():
            raise SpecError(Problem(f"{name} must be a whole number, got {self.text(name)!r}",
                                    self.file, self.line))
        return int(value)


def read_rows(
    paths: Sequence[Path], needed: Sequence[str] = NEEDED, kind: str = "microbenchmark"
) -> list[Row]:
    """Read all rows of the files; raises `SpecError` for a file that is none of ours.

    needed: columns by which a file of that kind is known.
    """
    rows: list[Row] = []
    for path, times in Counter(path.resolve() for path in paths).items():
        if times > 1:
            raise SpecError(Problem(f"is given {times} times", str(path)))
    for path in paths:
        try:
            with path.open(newline="", encoding="utf-8") as file:
                reader = csv.DictReader(file)
                columns = reader.fieldnames or []
                if missing := [name for name in needed if name not in columns]:
                    raise SpecError(Problem(f"is no {kind} file: column {missing[0]} is"
                                            " missing", str(path), 1))
                for line, cells in enumerate(reader, start=2):
                    if None in cells or None in cells.values():
                        raise SpecError(Problem(f"does not have the header's {len(columns)}"
                                                " columns", str(path), line))
                    row = Row(dict(cells), str(path), line)
                    if row.text("time_us") and row.number("time_us") <= 0:
                        raise SpecError(Problem("time_us must be above 0, got"
                                                f" {row.text('time_us')!r}", str(path), line))
                    rows.append(row)
        except OSError as error:
            raise SpecError(Problem(f"cannot read: {error.strerror or error}",
                                    str(path))) from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise SpecError(Problem(f"is no CSV text: {error}", str(path))) from None
    return rows


def differences(rows: Iterable[Row]) -> list[str]:
    """Return a warning for each of GPU, driver and timer that differs between compared rows.

    Steady loads have a timer of their own, so timers are compared among rows of one L2 state
    class: steady or not.
    """
    found = []
    rows = list(rows)
    for name in ("device", "driver"):
        found += _several(name, {row.text(name) for row in rows})
    for steady in (False, True):
        found += _several("timer", {
            row.text("timer") for row in rows
            if (row.text("l2") == "steady") is steady and row.text("kernel") != "idle"
        })
    return found


def _several(name: str, values: set[str]) -> list[str]:
    if len(values) < 2:
        return []
    return [f"measured with {len(values)} values of {name}, which are not comparable:"
            f" {'; '.join(sorted(values))}"]


def sha256(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the files' bytes, one after the other, in hexadecimal."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()
