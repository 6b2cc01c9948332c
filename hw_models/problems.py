"""What is wrong with an input, and where: one clear line per problem."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input: where it is and what to do about it."""

    message: str
    file: str = ""
    line: int | None = None
    path: KeyPath = ()

    def __str__(self) -> str:
        where = self.file + (f":{self.line}" if self.line is not None else "")
        dotted = dotted_path(self.path)
        return ": ".join(part for part in (where, dotted, self.message) if part)


class SpecError(ValueError):
    """The user's input is wrong; `str()` gives one clear line per problem."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems = found
        super().__init__("\n".join(map(str, found)))


def dotted_path(path: KeyPath) -> str:
    """Return `a.b[2].c` for ('a', 'b', 2, 'c')."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest valid name, then the valid names."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{hint} (valid: {', '.join(names)})"


@dataclass
class Document:
    """A parsed YAML file: plain data, and the line of every key path."""

    file: str
    data: Any
    lines: dict[KeyPath, int] = field(default_factory=dict)

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of the longest known prefix of `path`."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Return a `Problem` at `path` in this file."""
        return Problem(message, self.file, self.line_of(path), path)
