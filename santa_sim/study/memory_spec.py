"""A study of memories alone: scattered reads that use part of each row that they open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field

from hw_models.dram import DramSpec, load_dram
from hw_models.problems import Document, Problem, SpecError, did_you_mean
from hw_models.strict_yaml import validate
from santa_sim.study.datasets import beside
from santa_sim.study.load import overridden
from santa_sim.study.spec import STRICT, Level, Printable

MEMORY = "memory"
"""The level that has a file of its own kind."""
Size = Annotated[int, Field(strict=True, ge=1, le=1 << 20)]


class MemoryStudy(BaseModel):
    """Pieces of rows, each in a row of its own, read from each memory at full load.

    memories: names in `hw_models/dram/presets`, or paths. bytes_per_activation: sizes of a piece.
    pieces_per_channel: how many are read, at random places. seed: of the places. queue: requests
    that a channel's scheduler sees; page: its policy.
    """

    model_config = STRICT

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=100)]
    title: Annotated[str, Field(min_length=1, max_length=300), Printable]
    question: Annotated[str, Field(max_length=2000), Printable] = ""
    level: Literal["memory"]
    memories: Annotated[list[str], Field(min_length=1)]
    bytes_per_activation: Annotated[list[Size], Field(min_length=1)]
    pieces_per_channel: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 2000
    seed: Annotated[int, Field(strict=True, ge=0, le=2**62)] = 0
    queue: Annotated[int, Field(strict=True, ge=1, le=4096)] = 64
    page: Literal["open", "closed"] = "open"


@dataclass(frozen=True)
class LoadedMemoryStudy:
    """A checked study with its memories by name; file, text: where it stands."""

    study: MemoryStudy
    memories: dict[str, DramSpec]
    file: Path
    text: str
    overrides: tuple[str, ...]


def is_memory_study(document: Document) -> bool:
    """Return whether a study file is of this kind; raises `SpecError` for a level of no kind."""
    level = document.data.get("level") if isinstance(document.data, dict) else None
    known = (MEMORY, *get_args(Level))
    if isinstance(level, str) and level not in known:
        raise SpecError(document.problem(("level",), f"got '{level}'{did_you_mean(level, known)}"))
    return level == MEMORY


def load_memory_study(path: str | Path, overrides: Sequence[str] = ()) -> LoadedMemoryStudy:
    """Read a study of memories; raises `SpecError` with file, line and dotted path."""
    return memory_study_of(overridden(path, overrides), path, overrides)


def memory_study_of(
    document: Document, path: str | Path, overrides: Sequence[str]
) -> LoadedMemoryStudy:
    """Return the study that a file and its overrides hold (see `load_memory_study`)."""
    study = validate(document, MemoryStudy)
    memories: dict[str, DramSpec] = {}
    problems: list[Problem] = []
    for i, text in enumerate(study.memories):
        try:
            memory = load_dram(beside(text, Path(path).resolve().parent, (".yaml", ".yml")))
        except SpecError as error:
            problems.append(document.problem(("memories", i), str(error)))
            continue
        if text in memories:
            problems.append(document.problem(("memories", i), f"'{text}' is listed twice"))
        memories[text] = memory
    if problems:
        raise SpecError(problems)
    return LoadedMemoryStudy(study, memories, Path(path), document.text, tuple(overrides))
