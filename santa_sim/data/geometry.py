"""The attention geometry of published models: heads, head dimension, layers and context."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hw_models.strict_yaml import Problem, SpecError, did_you_mean, load, validate

GEOMETRIES_DIR = Path(__file__).parent.parent / "geometries"
"""Folder of the catalogue, one YAML file per model."""

Count = Annotated[int, Field(ge=1, strict=True)]


class Geometry(BaseModel):
    """The attention shape of one model.

    num_qo_heads, num_kv_heads: H and KVH of one layer; head_dim: d; num_layers: attention layers;
    max_context: tokens the model is meant to read; source: where the numbers are from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1)]
    num_qo_heads: Count
    num_kv_heads: Count
    head_dim: Count
    num_layers: Count
    max_context: Count
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="after")
    def _heads_divide(self) -> Self:
        if self.num_qo_heads % self.num_kv_heads:
            raise ValueError(
                f"num_qo_heads must be a multiple of num_kv_heads, "
                f"got {self.num_qo_heads} and {self.num_kv_heads}"
            )
        return self

    @property
    def group_size(self) -> int:
        """G = H / KVH, the query heads that read one KV head."""
        return self.num_qo_heads // self.num_kv_heads

    @property
    def sm_scale(self) -> float:
        """The usual d^-1/2, in logits per unit of q·k."""
        return float(self.head_dim**-0.5)


def geometry_names() -> list[str]:
    """Return the names in the catalogue."""
    return sorted(path.stem for path in GEOMETRIES_DIR.glob("*.yaml"))


def load_geometry(name_or_path: str | Path) -> Geometry:
    """Return a geometry of the catalogue by name, or one's own by the path of a YAML file.

    Raises `SpecError` for an unknown name (with the nearest), or a file that is missing or wrong.
    """
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or "/" in text or text.endswith((".yaml", ".yml"))
    if is_path:
        return validate(load(name_or_path), Geometry)
    if text not in geometry_names():
        hint = did_you_mean(text, geometry_names())
        raise SpecError(Problem(f"no geometry named '{text}'{hint}; your own end in .yaml"))
    return validate(load(GEOMETRIES_DIR / f"{text}.yaml"), Geometry)
