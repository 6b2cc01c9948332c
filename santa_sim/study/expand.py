"""`grid`, `zip` and `list` blocks: one entry of a study file becomes many."""

from __future__ import annotations

import copy
import difflib
import itertools
from collections.abc import Iterator
from typing import Any

from hw_models.problems import Document, KeyPath, SpecError, shortened, shown

MAX_ENTRIES = 100_000
"""Entries one block may expand to; a slip such as a long grid of grids stops here."""

_BLOCKS = ("grid", "zip", "list")
Choice = tuple[KeyPath, Any, KeyPath]
"""A dotted key, the value it takes, and where in the file that value stands."""


def expand(document: Document, at: KeyPath) -> Iterator[Document]:
    """Yield one document per combination; each holds the expanded entry under the key `entry`.

    Entries combine their `grid` (every combination), `zip` (lists advance together) and `list`
    (one mapping per entry) with the keys that stand beside them. Lines of expanded values are
    those of the block, so that a later complaint points at them.
    Raises `SpecError` if a block is malformed, empty, repeats a key, or expands beyond
    `MAX_ENTRIES`.
    """
    entry = _entry(document, at)
    base = {key: value for key, value in entry.items() if key not in _BLOCKS}
    lines = {
        ("entry", *path[len(at):]): line
        for path, line in document.lines.items() if path[: len(at)] == at
    }
    for choices in combinations(document, at, MAX_ENTRIES):
        yield _with_choices(document, base, lines, choices)


def combinations(document: Document, at: KeyPath, most: int) -> Iterator[list[Choice]]:
    """Yield the choices of each combination of the blocks of an entry; raises like `expand`."""
    entry = _entry(document, at)
    axes: list[list[list[Choice]]] = []
    for block in _BLOCKS:
        if block in entry:
            axes.extend(_axes(document, (*at, block), block, entry[block]))
    total = 1
    for axis in axes:
        total *= len(axis)
    if total > most:
        raise SpecError(document.problem(at, f"expands to {total:,} entries, over {most:,}"))
    for combination in itertools.product(*axes):
        yield [choice for part in combination for choice in part]


def _entry(document: Document, at: KeyPath) -> Any:
    entry = document.data
    for part in at:
        entry = entry[part]
    for key in entry:
        near = difflib.get_close_matches(key, _BLOCKS, n=1, cutoff=0.7)
        if near and key not in _BLOCKS:
            raise SpecError(document.problem((*at, key), f"unknown key; did you mean '{near[0]}'?"))
    return entry


def _axes(
    document: Document, at: KeyPath, block: str, content: Any
) -> Iterator[list[list[Choice]]]:
    if block == "list":
        if not isinstance(content, list) or not content:
            raise SpecError(document.problem(at, "must be a list of mappings, with at least one"))
        yield [_choices(document, (*at, i), item) for i, item in enumerate(content)]
        return
    if not isinstance(content, dict) or not content:
        raise SpecError(document.problem(at, "must map keys to lists of values"))
    columns = []
    for key, values in content.items():
        if not isinstance(values, list) or not values:
            raise SpecError(document.problem(
                (*at, key), f"must be a list of values, with at least one; got {shown(values)}"
            ))
        path = _split(document, (*at, key), key)
        columns.append([(path, value, (*at, key, i)) for i, value in enumerate(values)])
    if block == "grid":
        yield from ([[choice] for choice in column] for column in columns)
        return
    lengths = {key: len(values) for key, values in content.items()}
    if len(set(lengths.values())) > 1:
        given = shortened(", ".join(f"{key}: {length}" for key, length in lengths.items()), 200)
        raise SpecError(document.problem(at, f"lists must be equally long, got {given}"))
    yield [list(row) for row in zip(*columns, strict=True)]


def _choices(document: Document, at: KeyPath, item: Any) -> list[Choice]:
    if not isinstance(item, dict) or not item:
        message = f"must be a mapping of keys to values, got {shown(item)}"
        raise SpecError(document.problem(at, message))
    return [
        (_split(document, (*at, key), key), value, (*at, key)) for key, value in item.items()
    ]


def _split(document: Document, at: KeyPath, key: str) -> KeyPath:
    path = tuple(key.split("."))
    if not all(path):
        raise SpecError(document.problem(at, "must be a key, or keys joined by single dots"))
    return path


def _with_choices(
    document: Document, base: dict[str, Any], block_lines: dict[KeyPath, int],
    choices: list[Choice],
) -> Document:
    entry, lines = copy.deepcopy(base), dict(block_lines)
    taken: set[KeyPath] = set()
    for path, value, origin in choices:
        if path in taken:
            raise SpecError(document.problem(origin, f"'{'.'.join(map(str, path))}' is set twice"))
        taken.add(path)
        # a copy, for a later choice may set a key inside this value
        _put(document, origin, entry, path, copy.deepcopy(value))
        line = document.line_of(origin)
        if line is not None:
            lines[("entry", *path)] = line
    return Document(document.file, {"entry": entry}, lines)


def _put(
    document: Document, origin: KeyPath, entry: dict[str, Any], path: KeyPath, value: Any
) -> None:
    node = entry
    for part in path[:-1]:
        node = node.setdefault(str(part), {})
        if not isinstance(node, dict):
            raise SpecError(document.problem(origin, f"cannot set in '{part}': is not a mapping"))
    if path[-1] in node:
        raise SpecError(document.problem(
            origin, f"'{'.'.join(map(str, path))}' stands beside the block too; keep one of them"
        ))
    node[str(path[-1])] = value
