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
        dotted = shortened(dotted_path(self.path), 300)
        line = ": ".join(part for part in (where, dotted, self.message) if part)
        # a name in the file may hold line breaks or terminal codes
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


class SpecError(ValueError):
    """The user's input is wrong; `str()` gives one clear line per problem."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems = found
        super().__init__("\n".join(map(str, found)))


def shortened(text: str, length: int = 80) -> str:
    """Return `text`, cut to `length` characters where it is longer."""
    return text if len(text) <= length else text[: length - 3] + "..."


def shown(value: object) -> str:
    """Return a value as a message shows it: on one line, and short however long the value is."""
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    try:
        return "nothing" if value is None else shortened(repr(value))
    except ValueError:  # Python does not print whole numbers of more than 4300 digits
        return "a whole number of thousands of digits"


def dotted_path(path: KeyPath) -> str:
    """Return `a.b[2].c` for ('a', 'b', 2, 'c')."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part or "''"
            text += f".{name}" if text else name
    return text


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest valid name, then the valid names."""
    names = sorted(valid)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{hint} (valid: {', '.join(names)})"


@dataclass
class Document:
    """A parsed YAML file: plain data, the line of every key path, and the text they are from."""

    file: str
    data: Any
    lines: dict[KeyPath, int] = field(default_factory=dict)
    text: str = field(default="", repr=False)

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of the longest known prefix of `path`."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Return a `Problem` at `path` in this file."""
        return Problem(message, self.file, self.line_of(path), path)
