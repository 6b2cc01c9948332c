"""pydantic's complaints in the words of the file: one line per place, with the nearest key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from hw_models.problems import Document, KeyPath, Problem, did_you_mean, shown


def explain(
    error: ValidationError, document: Document, model: type[BaseModel], at: KeyPath = ()
) -> list[Problem]:
    """Return the problems behind `error`, raised when `model` read `document` at `at`."""
    return _one_per_place([_explain(document, model, at, dict(item)) for item in error.errors()])


def _one_per_place(faults: Sequence[Problem]) -> list[Problem]:
    """Join what pydantic says about each branch of a union into one line.

    Only a union yields two faults at one place, or one at a place and one below it; then the one
    below belongs to the branch that the author meant.
    """
    paths = {fault.path for fault in faults}
    above = {path[:end] for path in paths for end in range(len(path))}
    joined: dict[KeyPath, Problem] = {}
    for fault in faults:
        if fault.path in above:
            continue
        seen = joined.get(fault.path)
        message = f"{seen.message}; or: {fault.message}" if seen else fault.message
        joined[fault.path] = replace(fault, message=message)
    return list(joined.values())


def _explain(
    document: Document, model: type[BaseModel], at: KeyPath, error: Mapping[str, Any]
) -> Problem:
    kind, value, context = error["type"], error.get("input"), error.get("ctx", {})
    location = (*at, *error["loc"])
    path = _existing(document.data, location)
    if kind == "missing":
        path = (*_existing(document.data, location[:-1]), location[-1])
    if kind == "extra_forbidden":
        valid = {name for owner in _owners(model, error["loc"][:-1]) for name in _keys(owner)}
        return document.problem(path, "unknown key" + did_you_mean(str(path[-1]), valid))
    if kind == "missing":
        return document.problem(path, "required key is missing")
    tag_key = str(context.get("discriminator", "")).strip("'")
    if kind == "union_tag_not_found":
        return document.problem((*path, tag_key), "required key is missing")
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        names = _quoted(str(context.get("expected_tags") or context.get("expected")))
        if isinstance(value, dict) and tag_key in value:
            path, value = (*path, tag_key), value[tag_key]
        near = value if isinstance(value, str) else ""
        return document.problem(path, f"got {shown(value)}" + did_you_mean(near, names))
    if kind in ("value_error", "assertion_error"):  # our own words, which say what they got
        return document.problem(path, str(context.get("error", error["msg"])))
    message = _IN_YAML.get(kind) or error["msg"][:1].lower() + error["msg"][1:]
    return document.problem(path, f"{message}; got {shown(value)}")


_IN_YAML = {
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dict_type"), "must be a mapping of keys to values"
    ),
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    **dict.fromkeys(("list_too_short", "too_short"), "must have at least one item"),
}
"""What pydantic says in terms of Python's types, in terms of YAML's."""


def _quoted(expected: str) -> list[str]:
    """Return the names in pydantic's list `'a', 'b' or 'c'`; a name may hold a comma."""
    return re.findall(r"'([^']*)'", expected) or re.split(r", | or ", expected)


def _existing(node: object, path: Sequence[str | int]) -> KeyPath:
    """Drop union tags and model names that pydantic puts into a location but YAML does not have.

    A tag may be spelt like a key that stands beside the one meant; the reading that keeps more
    parts wins, and of two equally long ones that without the tag.
    """
    if not path:
        return ()
    skipped = _existing(node, path[1:])
    if not _holds(node, path[0]):
        return skipped
    kept = (path[0], *_existing(node[path[0]], path[1:]))  # type: ignore[index]
    return kept if len(kept) > len(skipped) else skipped


def _holds(node: object, part: str | int) -> bool:
    if isinstance(node, list):
        return isinstance(part, int) and part < len(node)
    return isinstance(node, dict) and part in node


def _key(name: str, info: FieldInfo) -> str:
    return info.validation_alias if isinstance(info.validation_alias, str) else name


def _keys(model: type[BaseModel]) -> list[str]:
    return [_key(name, info) for name, info in model.model_fields.items()]


def _owners(model: type[BaseModel], loc: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the models whose keys stand at `loc`; a union narrows where `loc` names its tag."""
    current = [model]
    for part in loc:
        if isinstance(part, int):
            continue
        below = [
            inner
            for owner in current
            for name, info in owner.model_fields.items()
            if _key(name, info) == part
            for inner in _models_in(info.annotation)
        ]
        current = below or [m for m in current if _is_tagged(m, part)] or current
    return current


def _is_tagged(model: type[BaseModel], tag: str) -> bool:
    return model.__name__ == tag or any(
        tag in get_args(info.annotation) for info in model.model_fields.values()
    )


def _models_in(annotation: object) -> list[type[BaseModel]]:
    """Return the pydantic models named anywhere inside a type annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
