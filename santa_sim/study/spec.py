"""What a study file says, as checked models."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, TypeAdapter, model_validator

from santa_sim.data.synthetic import SyntheticLaw
from santa_sim.event.spec import EventRun
from santa_sim.methods.spec import Method

Printable = Field(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")
"""Text without terminal codes; it is printed and becomes part of the report."""

STRICT = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Seeds(BaseModel):
    """Seeds `first`, `first + 1`, …, `count` of them; a sampled result is their mean.

    precision: instead of `count` alone, go on until half the 95 % interval of a point's error is at
    most this share of it, or to `at_most` seeds.
    """

    model_config = STRICT

    first: Annotated[int, Field(strict=True, ge=0, le=2**62)] = 0
    count: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 8
    precision: Annotated[float, Field(strict=True, gt=0, lt=1)] | None = None
    at_most: Annotated[int, Field(strict=True, ge=2, le=100_000)] | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.precision is None and self.at_most is not None:
            raise ValueError("at_most goes with a precision, which is missing")
        if self.precision is not None and not 4 <= self.count <= self.cap:
            raise ValueError(
                f"with a precision, count is at least 4 and at_most no less, got count "
                f"{self.count} and at_most {self.cap}"
            )
        return self

    @property
    def cap(self) -> int:
        """The most seeds that a point may take: 64 times `count` unless the study says."""
        return self.at_most or min(64 * self.count, 100_000)


class CaptureData(BaseModel):
    """Captured attention: a name in the catalogue or a path to an npz of the same layout.

    traces, layers, steps: which to use; all by default. Each trace is a dataset of its own, its
    decode steps are averaged.
    """

    model_config = STRICT

    kind: Literal["capture"]
    capture: Annotated[str, Field(min_length=1)]
    traces: tuple[str, ...] | None = None
    layers: tuple[StrictInt, ...] | None = None
    steps: tuple[StrictInt, ...] | None = None


class SyntheticData(BaseModel):
    """Made-up attention of a known law in the geometry of a known model.

    geometry: name or path. law: distribution of the scores. context: n; batch: B; dtype: storage
    format of K and V. simulated_kv_heads: KV heads that are made and run, each standing for
    KVH/simulated others of the same law (all by default). seed: of the data, not of the draws.
    fit: capture whose effective supports, ternary-query noise and value coherence are taken over,
    or instead effective_support: 1/Σp² of every head.
    """

    model_config = STRICT

    kind: Literal["synthetic"]
    geometry: Annotated[str, Field(min_length=1)]
    law: SyntheticLaw
    context: Annotated[int, Field(strict=True, ge=1, le=2**24)]
    batch: Annotated[int, Field(strict=True, ge=1, le=4096)] = 1
    dtype: Literal["bf16", "fp16", "fp32"] = "bf16"
    simulated_kv_heads: Annotated[int, Field(strict=True, ge=1)] | None = None
    seed: Annotated[int, Field(strict=True, ge=0, le=2**62)] = 0
    fit: str | None = None
    effective_support: Annotated[float, Field(strict=True, ge=1)] | None = None


Level = Literal["sampled", "expected", "event"]
Data = Annotated[CaptureData | SyntheticData, Field(discriminator="kind")]


class Outline(BaseModel):
    """The study file before its `data` and `methods` entries are expanded and checked.

    name: becomes the output folder. title, question: shown on top of the report.
    level: `sampled` runs the methods, `expected` uses closed forms and gives no output error,
    `event` also runs what was sampled through the pipelines of the accelerators, in time.
    event: the ways to do so, by default one, with everything as the accelerators say.
    """

    model_config = STRICT

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", max_length=100)]
    title: Annotated[str, Field(min_length=1, max_length=300), Printable]
    question: Annotated[str, Field(max_length=2000), Printable] = ""
    level: Level = "sampled"
    seeds: Seeds = Seeds()
    data: Annotated[list[dict[str, Any]], Field(min_length=1)]
    methods: Annotated[list[dict[str, Any]], Field(min_length=1)]
    accelerators: Annotated[list[str | dict[str, Any]], Field(min_length=1)]
    event: list[dict[str, Any]] = Field(default_factory=list)


class DataEntry(BaseModel):
    """Holds one expanded `data` entry while it is checked."""

    entry: Data


class MethodEntry(BaseModel):
    """Holds one expanded `methods` entry while it is checked."""

    entry: Method


class EventEntry(BaseModel):
    """Holds one expanded `event` entry while it is checked."""

    entry: EventRun


class Study(BaseModel):
    """A whole, expanded study: every dataset and method is spelled out."""

    model_config = STRICT

    name: str
    title: str
    question: str
    level: Level
    seeds: Seeds
    data: tuple[Data, ...]
    methods: tuple[Method, ...]
    accelerators: tuple[str | dict[str, Any], ...]
    event: tuple[EventRun, ...] = ()


_EXPANSIONS: dict[str, Any] = {
    "grid": {
        "description": "dotted key -> list of values; every combination becomes an entry",
        "type": "object", "additionalProperties": {"type": "array", "minItems": 1},
    },
    "zip": {
        "description": "dotted key -> list of values; equally long lists advance together",
        "type": "object", "additionalProperties": {"type": "array", "minItems": 1},
    },
    "list": {
        "description": "one mapping of dotted keys to values per entry",
        "type": "array", "minItems": 1, "items": {"type": "object"},
    },
}


def study_schema() -> dict[str, Any]:
    """Return the JSON schema of a study file, for editors.

    An entry that is expanded may leave keys to its `grid`, `zip` or `list`, so only the key that
    chooses its kind is required here; the program itself is strict after the expansion.
    """
    schema = Outline.model_json_schema()
    definitions = schema.setdefault("$defs", {})
    for name, adapter, tag in (
        ("Data", TypeAdapter(Data), "kind"), ("Method", TypeAdapter(Method), "name")
    ):
        part = adapter.json_schema()
        for key, definition in part.pop("$defs").items():
            definition.pop("required", None)
            definitions.setdefault(key, definition)
        for reference in part["oneOf"]:
            entry = definitions[reference["$ref"].rsplit("/", 1)[1]]
            entry["properties"] = {**entry["properties"], **_EXPANSIONS}
            entry["required"] = [tag]
        definitions[name] = part
    run = TypeAdapter(EventRun).json_schema()
    definitions |= run.pop("$defs", {})
    definitions["EventRun"] = {**run, "properties": {**run["properties"], **_EXPANSIONS}}
    schema["properties"]["event"]["items"] = {"$ref": "#/$defs/EventRun"}
    schema["properties"]["data"]["items"] = {"$ref": "#/$defs/Data"}
    schema["properties"]["methods"]["items"] = {"$ref": "#/$defs/Method"}
    schema["properties"]["accelerators"]["items"] = {"anyOf": [
        {"type": "string"},
        {
            "type": "object", "required": ["base"], "additionalProperties": False,
            "properties": {"base": {"type": "string"}, **_EXPANSIONS},
        },
    ]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
