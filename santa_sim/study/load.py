"""From a study file (and `--set`) to a checked, expanded `Study`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from hw_models.accelerator import Accelerator
from hw_models.catalogue import load_accelerator
from hw_models.strict_yaml import (
    Document,
    KeyPath,
    Problem,
    SpecError,
    dotted_path,
    load,
    parse,
    validate,
)
from santa_sim.study.expand import expand
from santa_sim.study.spec import DataEntry, MethodEntry, Outline, Study

Entry = TypeVar("Entry", bound=BaseModel)


def load_study(
    path: str | Path, overrides: Sequence[str] = ()
) -> tuple[Study, tuple[Accelerator, ...]]:
    """Read a study and its accelerators.

    overrides: `a.b=c` or `a[0].b=c` texts whose values are YAML; they replace or add keys.
    Raises `SpecError` with all faults found, one line each.
    """
    document = load(path)
    for text in overrides:
        _override(document, text)
    outline = validate(document, Outline)
    problems: list[Problem] = []
    data = _entries(document, "data", DataEntry, problems)
    methods = _entries(document, "methods", MethodEntry, problems)
    accelerators = []
    for i, name in enumerate(outline.accelerators):
        try:
            accelerators.append(load_accelerator(_beside(path, name)))
        except SpecError as error:
            problems.extend(_located(document, ("accelerators", i), error))
    names = [accelerator.name for accelerator in accelerators]
    problems.extend(
        document.problem(("accelerators", i), f"accelerator '{name}' is listed twice")
        for i, name in enumerate(names) if name in names[:i]
    )
    if problems:
        raise SpecError(problems)
    return Study(
        **{**outline.model_dump(include={"name", "title", "question", "level"}),
           "seeds": outline.seeds, "data": tuple(_unique(data)),
           "methods": tuple(_unique(methods)), "accelerators": tuple(outline.accelerators)}
    ), tuple(accelerators)


def _unique(entries: list[Any]) -> list[Any]:
    """Drop repeats that overlapping blocks bring in; the first keeps its place."""
    return list(dict.fromkeys(entries))


def _beside(study: str | Path, name: str) -> str:
    """Take a relative path in a study as relative to the study's folder."""
    if name.endswith((".yaml", ".yml")) and not Path(name).is_absolute():
        return str(Path(study).parent / name)
    return name


def _located(document: Document, at: KeyPath, error: SpecError) -> list[Problem]:
    """Give faults without a file of their own the place in the study that caused them."""
    return [p if p.file else document.problem(at, p.message) for p in error.problems]


def _entries(
    document: Document, key: str, model: type[Entry], problems: list[Problem]
) -> list[Any]:
    found: list[Any] = []
    for i in range(len(document.data[key])):
        at = (key, i)
        try:
            for expanded in expand(document, at):
                found.append(validate(expanded, model).entry)  # type: ignore[attr-defined]
        except SpecError as error:
            # one complaint per entry: a grid would repeat the same fault in every combination
            problems.extend(
                replace(p, path=(*at, *p.path[1:])) if p.path[:1] == ("entry",) else p
                for p in error.problems
            )
    return found


_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _override(document: Document, text: str) -> None:
    """Apply one `--set a.b[0].c=value` to the document."""
    name, equals, value = text.partition("=")
    parts: list[str | int] = [
        int(index) if index else key for key, index in _PART.findall(name.strip())
    ]
    if not equals or not parts or dotted_path(tuple(parts)) != name.strip():
        raise SpecError(Problem(f"--set wants key.path=value, got '{text}'"))
    if not isinstance(document.data, dict):
        raise SpecError(Problem("must be a mapping of keys to values", document.file))
    node: Any = document.data
    for part in parts[:-1]:
        node = _step(document, text, node, part, create=True)
    last = parts[-1]
    if isinstance(node, dict) and isinstance(last, str):
        node[last] = parse(value, f"--set {text}").data
    else:
        _step(document, text, node, last, create=False)
        node[last] = parse(value, f"--set {text}").data
    path = tuple(parts)
    for known in [p for p in document.lines if p[: len(path)] == path and len(p) > len(path)]:
        del document.lines[known]  # the lines below belonged to the value that is gone


def _step(document: Document, text: str, node: Any, part: str | int, *, create: bool) -> Any:
    if isinstance(node, dict) and isinstance(part, str):
        return node.setdefault(part, {}) if create else node.get(part)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    shown = f"[{part}]" if isinstance(part, int) else f"'{part}'"
    raise SpecError(Problem(f"--set {text}: there is no {shown} at that place", document.file))
