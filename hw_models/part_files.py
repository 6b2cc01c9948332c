"""Reads a spec from YAML and puts the part files that it names in their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from hw_models.accelerator import Accelerator, Buffer, Memory, MemoryEnergy
from hw_models.arithmetic import Arithmetic, OpEnergyTable
from hw_models.named_part import PARTS, NamedPart
from hw_models.pipeline_part import Pipeline
from hw_models.problems import Document, KeyPath, SpecError, did_you_mean
from hw_models.strict_yaml import load, validate

Model = TypeVar("Model", bound=BaseModel)

ANY = "*"
_OP_ENERGY = NamedPart("op_energy"), OpEnergyTable

_PLACES: dict[type[BaseModel], dict[tuple[str, ...], tuple[NamedPart, type[BaseModel]]]] = {
    Accelerator: {
        ("memory",): (NamedPart("memory"), Memory),
        ("buffer",): (NamedPart("buffer"), Buffer),
        ("arithmetic",): (NamedPart("arithmetic"), Arithmetic),
        ("pipeline",): (NamedPart("pipeline"), Pipeline),
    },
    Memory: {("energy", ANY): (NamedPart("memory_energy"), MemoryEnergy)},
    Arithmetic: {
        ("energy", ANY, "table"): _OP_ENERGY,
        ("units", ANY, "energy", ANY, "table"): _OP_ENERGY,
    },
}
"""Model -> where inside it a part may be named, the part's directory, and its model."""


def read_spec(file: Path, model: type[Model]) -> tuple[Model, Document]:
    """Read and check one YAML file together with the part files that it names.

    Returns the model and the document for messages about it. Raises `SpecError`; a fault inside
    a part names the part's own file and line.
    """
    document = load(file)
    document = replace(document, data=_resolved(document, document.data, (), model))
    return validate(document, model), document


def _resolved(document: Document, data: Any, at: KeyPath, model: type[BaseModel]) -> Any:
    """Return `data`, which stands at `at`, with names of parts replaced by the parts."""
    for pattern, (part, part_model) in _PLACES.get(model, {}).items():
        for path in list(_matches(data, pattern)):
            value = _get(data, path)
            where = (*at, *path)
            if isinstance(value, str):
                data = _with(data, path, _named(document, where, value, part, part_model))
            else:
                data = _with(data, path, _resolved(document, value, where, part_model))
    return _dram_beside(document, data) if model is Memory else data


def _dram_beside(document: Document, data: Any) -> Any:
    """Return a memory whose DRAM, if named by a path, is looked for beside the file."""
    at = ("dram", "preset")
    for path in _matches(data, at):
        name = _get(data, path)
        if isinstance(name, str) and name.endswith((".yaml", ".yml")):
            data = _with(data, at, str(Path(document.file).parent / name))
    return data


def _named(
    document: Document, at: KeyPath, name: str, part: NamedPart, model: type[BaseModel]
) -> BaseModel:
    if name.endswith((".yaml", ".yml")):
        file = Path(document.file).parent / name
    elif name in part.names:
        file = PARTS / part.directory / f"{name}.yaml"
    else:
        raise SpecError(document.problem(
            at, f"no {part.directory} part '{name}'{did_you_mean(name, part.names)}"
        ))
    return read_spec(file, model)[0]


def _matches(data: Any, pattern: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the key paths in nested mappings that fit a pattern with wildcards."""
    if not pattern:
        yield ()
        return
    if isinstance(data, dict):
        for key in data if pattern[0] == ANY else [k for k in data if k == pattern[0]]:
            for rest in _matches(data[key], pattern[1:]):
                yield (key, *rest)


def _get(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data[key]
    return data


def _with(data: Any, path: tuple[str, ...], value: Any) -> Any:
    """Return a copy of nested mappings in which `path` holds `value`."""
    if not path:
        return value
    return {**data, path[0]: _with(data[path[0]], path[1:], value)}
