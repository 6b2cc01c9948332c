"""YAML in, validated models out; every complaint names file, line, dotted path and remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

Model = TypeVar("Model", bound=BaseModel)
KeyPath = tuple[str | int, ...]

MAX_NODES = 200_000
"""More nodes than any honest study has; stops YAML whose anchors multiply without end."""
MAX_BYTES = 4_000_000


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


def load(path: str | Path) -> Document:
    """Read one YAML 1.2 file; raises `SpecError` if it is missing, unreadable or not YAML."""
    file = Path(path)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SpecError(Problem(f"file is larger than {MAX_BYTES} bytes", str(path)))
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(Problem(f"cannot read: {error.strerror or error}", str(path))) from None
    except UnicodeDecodeError as error:
        raise SpecError(Problem(f"is not UTF-8 text: {error.reason}", str(path))) from None
    return parse(text, str(path))


def parse(text: str, file: str) -> Document:
    """Parse YAML 1.2 text; raises `SpecError` with the line of the first fault."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="rt", pure=True)
    yaml.allow_duplicate_keys = False
    try:
        tree = yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        reason = " ".join((error.problem or "not valid YAML").split())
        raise SpecError(Problem(f"not valid YAML: {reason}", file, line)) from None
    except (YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise SpecError(Problem(f"not valid YAML: {reason}", file)) from None
    document = Document(file, None)
    document.data = _plain(tree, (), document, _Budget(MAX_NODES))
    return document


@dataclass
class _Budget:
    left: int


def _plain(node: Any, path: KeyPath, document: Document, budget: _Budget) -> Any:
    """Turn ruamel's tree into dicts, lists and scalars, noting each key's line."""
    budget.left -= 1
    if budget.left < 0 or len(path) > 50:
        raise SpecError(Problem("too many or too deeply nested entries", document.file))
    if isinstance(node, dict):
        plain = {}
        for key, value in node.items():
            if not isinstance(key, str):
                raise SpecError(document.problem(path, f"keys must be text, got {key!r}"))
            where = (*path, str(key))
            position = getattr(node, "lc", None)
            if position is not None and position.data and key in position.data:
                document.lines[where] = position.data[key][0] + 1
            plain[str(key)] = _plain(value, where, document, budget)
        return plain
    if isinstance(node, list):
        items = []
        for index, value in enumerate(node):
            where = (*path, index)
            position = getattr(node, "lc", None)
            if position is not None and position.data and index in position.data:
                document.lines[where] = position.data[index][0] + 1
            items.append(_plain(value, where, document, budget))
        return items
    if node is None or isinstance(node, bool):
        return node
    # ruamel keeps scalars in subclasses that remember their spelling; models want the plain ones
    for kind in (int, float, str):
        if isinstance(node, kind):
            return kind(node)
    raise SpecError(document.problem(path, f"a {type(node).__name__} is not supported here"))


def validate(document: Document, model: type[Model], at: KeyPath = ()) -> Model:
    """Check a document (or the part at `at`) against a pydantic model.

    Raises `SpecError` with one line per fault: file, line, dotted path, value, requirement and,
    for an unknown key, the nearest valid one.
    """
    data = document.data
    for part in at:
        data = data[part]
    if not isinstance(data, dict):
        got = "nothing" if data is None else type(data).__name__
        raise SpecError(document.problem(at, f"must be a mapping of keys to values, got {got}"))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SpecError(
            [_explain(document, model, at, dict(item)) for item in error.errors()]
        ) from None


def _explain(
    document: Document, model: type[BaseModel], at: KeyPath, error: dict[str, Any]
) -> Problem:
    path = _existing(document, (*at, *error["loc"]))
    kind, value = error["type"], error.get("input")
    if kind == "extra_forbidden":
        key = str(path[-1])
        valid = {name for owner in _owners(model, error["loc"][:-1]) for name in _keys(owner)}
        return document.problem(path, "unknown key" + did_you_mean(key, valid))
    if kind == "missing":
        return document.problem(path, "required key is missing")
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        expected = error.get("ctx", {}).get("expected_tags") or error.get("ctx", {}).get("expected")
        names = [n.strip().strip("'") for n in str(expected).replace(" or ", ", ").split(",")]
        got = value.get(_tag(error), value) if isinstance(value, dict) else value
        return document.problem(path, f"got {got!r}" + did_you_mean(str(got), names))
    message = error["msg"].removeprefix("Value error, ")
    shown = "" if isinstance(value, dict | list) else f"; got {value!r}"
    return document.problem(path, message[:1].lower() + message[1:] + shown)


def _tag(error: dict[str, Any]) -> str:
    return str(error.get("ctx", {}).get("discriminator", "kind")).strip("'")


def _existing(document: Document, path: Sequence[str | int]) -> KeyPath:
    """Drop union tags and model names that pydantic puts into a location but YAML does not have."""
    node, kept = document.data, []
    for index, part in enumerate(path):
        last = index == len(path) - 1
        if isinstance(node, dict) and part in node:
            node = node[part]
            kept.append(part)
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
            kept.append(part)
        elif last and isinstance(node, dict) and isinstance(part, str) and part.isidentifier():
            kept.append(part)
    return tuple(kept)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _owners(model: type[BaseModel], loc: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the models whose keys stand at `loc`; a union narrows where `loc` names its tag."""
    current = [model]
    for part in loc:
        if isinstance(part, int):
            continue
        below = [
            inner for owner in current if part in owner.model_fields
            for inner in _models_in(owner.model_fields[part].annotation)
        ]
        current = below or [m for m in current if _is_tagged(m, part)] or current
    return current


def _is_tagged(model: type[BaseModel], tag: str) -> bool:
    return model.__name__ == tag or any(
        tag in get_args(info.annotation) for info in model.model_fields.values()
    )


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the pydantic models named anywhere inside a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
