"""YAML in, validated models out; every complaint names file, line, dotted path and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hw_models.problems import (
    Document,
    KeyPath,
    Problem,
    SpecError,
    did_you_mean,
    dotted_path,
    shown,
)
from hw_models.pydantic_faults import explain

__all__ = [
    "Document",
    "KeyPath",
    "Problem",
    "SpecError",
    "did_you_mean",
    "dotted_path",
    "load",
    "parse",
    "validate",
]

Model = TypeVar("Model", bound=BaseModel)

MAX_NODES = 200_000
"""More nodes than any honest study has; stops YAML whose anchors multiply without end."""
MAX_DEPTH = 50
"""Deeper than any model here; stops an anchor that contains itself."""
MAX_BYTES = 1_000_000
"""Parsing in pure Python takes about 10 s for this much."""

_TAG = "tag:yaml.org,2002:"


def load(path: str | Path) -> Document:
    """Read one YAML 1.2 file; raises `SpecError` if it is missing, unreadable or not YAML."""
    file = str(path)
    check_name(file)
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)  # bounded: the path may name a pipe or a device
        text = raw.decode("utf-8")
    except OSError as error:
        raise SpecError(Problem(f"cannot read: {error.strerror or error}", file)) from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(Problem(f"is not UTF-8 text: {error.reason}", file, line)) from None
    if len(raw) > MAX_BYTES:
        raise SpecError(Problem(f"file is larger than {MAX_BYTES} bytes", file))
    return parse(text, file)


def check_name(path: str) -> None:
    """Raise `SpecError` for a path that no record could hold: not UTF-8, or with a NUL."""
    try:
        path.encode()
    except UnicodeEncodeError:
        raise SpecError(Problem("the path is not UTF-8 text", path)) from None
    if "\0" in path:
        raise SpecError(Problem("a path cannot hold a NUL character", path))


def parse(text: str, file: str) -> Document:
    """Parse YAML 1.2 text into plain dicts, lists and scalars.

    Anchors and merge keys work; tags other than YAML's own scalars are refused, so nothing is ever
    constructed by name. Raises `SpecError` with the line of the first fault.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="safe", pure=True)
    try:
        root = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SpecError(
            Problem(f"not valid YAML: {_one_line(error.problem)}", file, mark and mark.line + 1)
        ) from None
    except RecursionError:
        raise SpecError(Problem("too deeply nested", file)) from None
    except (YAMLError, ValueError) as error:
        raise SpecError(Problem(f"not valid YAML: {_one_line(error)}", file)) from None
    document = Document(file, None, text=text)
    if root is not None:
        document.lines[()] = root.start_mark.line + 1
        document.data = _Reader(document, yaml.constructor).read(root, (), 0)
    return document


class _Reader:
    """Turns ruamel's node graph into plain data, noting each key's line.

    Works on nodes and not on ruamel's round-trip objects: those ignore tags, turn an anchored
    `true` into 1 and leave a hole where an anchor contains itself.
    """

    def __init__(self, document: Document, constructor: Any) -> None:
        self._document = document
        self._constructor = constructor
        self._nodes_left = MAX_NODES

    def read(self, node: Any, path: KeyPath, depth: int) -> Any:
        """Return the plain value of a node that stands at `path`, `depth` nodes down."""
        self._nodes_left -= 1
        if self._nodes_left < 0:
            raise self._fault(node, path[:3], f"more than {MAX_NODES} entries, anchors expanded")
        if depth > MAX_DEPTH:
            raise self._fault(node, path[:3], f"nested more than {MAX_DEPTH} deep")
        if node.id == "mapping" and node.tag == _TAG + "map":
            return self._mapping(node, path, depth)
        if node.id == "sequence" and node.tag == _TAG + "seq":
            return self._sequence(node, path, depth)
        return self._scalar(node, path)

    def _sequence(self, node: Any, path: KeyPath, depth: int) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            self._document.lines[(*path, index)] = item.start_mark.line + 1
            items.append(self.read(item, (*path, index), depth + 1))
        return items

    def _mapping(self, node: Any, path: KeyPath, depth: int) -> dict[str, Any]:
        merge = [value for key, value in node.value if key.tag == _TAG + "merge"]
        plain = self._merged(merge, path, depth)
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                continue
            if key_node.tag != _TAG + "str":
                shown = key_node.value if key_node.id == "scalar" else f"a {key_node.id}"
                raise self._fault(key_node, path, f"keys must be text, got {shown}")
            key, line = str(key_node.value), key_node.start_mark.line + 1
            where = (*path, key)
            if key in first:
                message = f"key is given twice (first on line {first[key]})"
                raise self._fault(key_node, where, message)
            first[key] = self._document.lines[where] = line
            plain[key] = self.read(value_node, where, depth + 1)
        return plain

    def _merged(self, nodes: list[Any], path: KeyPath, depth: int) -> dict[str, Any]:
        """Return what `<<` brings in; of several sources the first one wins."""
        sources = [
            source for node in nodes for source in (node.value if node.id == "sequence" else [node])
        ]
        plain: dict[str, Any] = {}
        for source in reversed(sources):
            values = self.read(source, path, depth + 1)
            if not isinstance(values, dict):
                raise self._fault(source, path, "'<<' merges mappings only")
            plain |= values
        return plain

    def _scalar(self, node: Any, path: KeyPath) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if node.id == "scalar" and kind == "timestamp":
            return str(node.value)  # YAML 1.2 knows no dates
        if node.id != "scalar" or kind not in ("null", "bool", "int", "float", "str"):
            raise self._fault(node, path, f"tag '{node.tag}' is not supported")
        try:
            return self._constructor.construct_object(node)
        except ValueError:
            raise self._fault(node, path, f"not a valid {kind}: {shown(node.value)}") from None

    def _fault(self, node: Any, path: KeyPath, message: str) -> SpecError:
        return SpecError(Problem(message, self._document.file, node.start_mark.line + 1, path))


def _one_line(reason: object) -> str:
    return " ".join(str(reason).split())[:200]


def validate(document: Document, model: type[Model], at: KeyPath = ()) -> Model:
    """Check a document (or the part at `at`) against a pydantic model.

    Raises `SpecError` with one line per fault: file, line, dotted path, value, requirement and,
    for an unknown key, the nearest valid one.
    """
    data = document.data
    for depth, part in enumerate(at):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            raise SpecError(document.problem(at[: depth + 1], "required key is missing")) from None
    if not isinstance(data, dict):
        message = f"must be a mapping of keys to values, got {shown(data)}"
        raise SpecError(document.problem(at, message))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise SpecError(explain(error, document, model, at)) from None
