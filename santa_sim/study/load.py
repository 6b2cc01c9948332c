"""From a study file (and `--set`) to a checked, expanded `Study`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from hw_models.accelerator import Accelerator
from hw_models.problems import shown
from hw_models.strict_yaml import (
    Document,
    Problem,
    SpecError,
    dotted_path,
    load,
    parse,
    validate,
)
from santa_sim.study.datasets import Dataset, Sources, datasets, resolved
from santa_sim.study.event_checks import event_faults, event_runs
from santa_sim.study.expand import expand
from santa_sim.study.machines import Machines, machines_of
from santa_sim.study.spec import DataEntry, EventEntry, MethodEntry, Outline, Study

Entry = TypeVar("Entry", bound=BaseModel)

WIDE_ROWS = 20_000
"""Result rows above which a study is wide: one table of results, details of unchanged machines."""


@dataclass(frozen=True)
class LoadedStudy:
    """A checked study with all that its file names.

    datasets: what each data entry yields, in order. machines: in the order of the study.
    file, text: the study file and what stands in it; overrides: the `--set` texts.
    places: where in the file each dataset was asked for, for complaints that come up later.
    """

    study: Study
    datasets: tuple[Dataset, ...]
    machines: tuple[Machines, ...]
    file: Path
    text: str
    overrides: tuple[str, ...]
    places: tuple[Problem, ...]

    @property
    def rows(self) -> int:
        """Rows of the result table."""
        return (
            len(self.datasets) * len(self.study.methods) * sum(len(m.names) for m in self.machines)
        )

    @property
    def wide(self) -> bool:
        """Whether there are too many rows for details and a report of each."""
        return self.rows > WIDE_ROWS

    @cached_property
    def accelerators(self) -> tuple[Accelerator, ...]:
        """Every accelerator; of a wide study the unchanged ones, which stand for the others."""
        if self.wide:
            return tuple({m.base.name: m.base for m in self.machines}.values())
        return tuple(each for m in self.machines for each in m.all())

    def relocated(self, dataset: int, error: SpecError) -> SpecError:
        """Return the error with faults that name no file placed at the dataset's entry."""
        place = self.places[dataset]
        return SpecError(_located(place, error))


def overridden(path: str | Path, overrides: Sequence[str] = ()) -> Document:
    """Return a study file as it is after its `--set` texts (see `load_study`)."""
    document = load(path)
    for text in overrides:
        _override(document, text)
    return document


def load_study(path: str | Path, overrides: Sequence[str] = ()) -> LoadedStudy:
    """Read a study, its captures, its geometries and its accelerators.

    overrides: `a.b=c` or `a[0].b=c` texts whose values are YAML; they replace or add keys.
    Paths in a study are relative to its folder. Raises `SpecError` with all faults found, one line
    each.
    """
    return study_of(overridden(path, overrides), path, overrides)


def study_of(document: Document, path: str | Path, overrides: Sequence[str]) -> LoadedStudy:
    """Return the study that a file and its overrides hold (see `load_study`)."""
    outline = validate(document, Outline)
    folder = _folder(Path(path))
    problems: list[Problem] = []
    methods = dict.fromkeys(m for m, _ in _entries(document, "methods", MethodEntry, problems))
    found: dict[Dataset, Problem] = {}
    data: list[Any] = []
    sources = Sources()
    for entry, place in _entries(document, "data", DataEntry, problems):
        entry = resolved(entry, folder)
        if entry in data:
            continue  # overlapping blocks; the first keeps its place
        data.append(entry)
        try:
            found.update((dataset, place) for dataset in datasets(entry, sources))
        except SpecError as error:
            problems.extend(_located(place, error))
    machines = _machines(document, outline, folder, problems)
    given = _entries(document, "event", EventEntry, problems) if outline.event else []
    event = event_runs(outline.level, [run for run, _ in given])
    problems += event_faults(
        document, outline.level, data, methods, [m.base for m in machines], event
    )
    if problems:
        raise SpecError(dict.fromkeys(problems))
    study = Study(
        name=outline.name, title=outline.title, question=outline.question, level=outline.level,
        seeds=outline.seeds, data=tuple(data), methods=tuple(methods),
        accelerators=tuple(m.entry for m in machines),
        event=event,
    )
    return LoadedStudy(
        study, _told_apart(found), machines, Path(path), document.text,
        tuple(overrides), tuple(found.values()),
    )


def _told_apart(found: Iterable[Dataset]) -> tuple[Dataset, ...]:
    """Number datasets that name and context do not tell apart; tables would average them."""
    seen: Counter[tuple[str, int]] = Counter()
    apart = []
    for dataset in found:
        key = dataset.name, dataset.context
        seen[key] += 1
        apart.append(
            replace(dataset, name=f"{dataset.name} ({seen[key]})") if seen[key] > 1 else dataset
        )
    return tuple(apart)


def _machines(
    document: Document, outline: Outline, folder: Path, problems: list[Problem]
) -> tuple[Machines, ...]:
    found: list[Machines] = []
    for i, entry in enumerate(outline.accelerators):
        place = document.problem(("accelerators", i), "")
        try:
            machines = machines_of(document, ("accelerators", i), entry, folder)
        except SpecError as error:
            problems.extend(_located(place, error))
            continue
        listed = Counter(machines.names)
        listed.update(name for other in found for name in {*other.names} & {*listed})
        twice = [name for name, times in listed.items() if times > 1]
        if twice:
            problems.append(replace(place, message=f"accelerator '{min(twice)}' is listed twice"))
        found.append(machines)
    return tuple(found)


def _located(place: Problem, error: SpecError) -> list[Problem]:
    """Give faults the place in the study that caused them, or say it beside their own."""
    return [
        replace(p, message=f"{p.message} (named by {replace(place, message='')})") if p.file
        else replace(place, message=p.message, path=(*place.path, *p.path))
        for p in error.problems
    ]


def _folder(file: Path) -> Path:
    try:
        return file.resolve().parent
    except (OSError, RuntimeError):  # the working directory is gone; links without an end
        raise SpecError(Problem("cannot find the folder that it lies in", str(file))) from None


def _entries(
    document: Document, key: str, model: type[Entry], problems: list[Problem]
) -> list[tuple[Any, Problem]]:
    """Return the expanded entries under `key`, each with its place in the file."""
    found: list[tuple[Any, Problem]] = []
    for i in range(len(document.data[key])):
        at = (key, i)
        try:
            for expanded in expand(document, at):
                entry = validate(expanded, model).entry  # type: ignore[attr-defined]
                found.append((entry, document.problem(at, "")))
        except SpecError as error:
            # one complaint per entry: a grid would repeat the same fault in every combination
            problems.extend(
                replace(p, path=(*at, *p.path[1:])) if p.path[:1] == ("entry",) else p
                for p in error.problems
            )
    return found


_PART = re.compile(r"([^.\[\]]+)|\[([0-9]{1,9})\]")


def _override(document: Document, text: str) -> None:
    """Apply one `--set a.b[0].c=value` to the document."""
    name, equals, value = text.partition("=")
    parts: list[str | int] = [
        int(index) if index else key for key, index in _PART.findall(name.strip())
    ]
    if not equals or not parts or dotted_path(tuple(parts)) != name.strip():
        raise SpecError(Problem(f"--set wants key.path=value, got {shown(text)}"))
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
