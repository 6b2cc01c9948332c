"""What `python -m gpu_kernels.bench` runs: a YAML file, checked before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hw_models.strict_yaml import load, validate

Count = Annotated[int, Field(ge=1)]
Peer = Literal["sdpa_cudnn", "sdpa_flash", "flashinfer"]
L2 = Literal["cold", "warm"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Size(_Strict):
    """One (batch, context) point."""

    batch: Count
    context: Count


class Geometry(_Strict):
    """Heads and storage of the model that is timed; kv_dtype: of the caches, default dtype."""

    num_qo_heads: Count
    num_kv_heads: Count
    head_dim: Count
    dtype: Literal["bfloat16", "float16"] = "bfloat16"
    kv_dtype: Literal["float8_e4m3fn"] | None = None
    kv_layout: Literal["NHD", "HND"] = "NHD"


class InputKind(_Strict):
    """Shape of the attention: `flat`, `zipf` with an exponent, or a `capture` with a trace."""

    kind: Literal["flat", "zipf", "capture"]
    exponent: Annotated[float, Field(gt=0)] | None = None
    path: str | None = None
    trace: str | None = None

    @model_validator(mode="after")
    def _fits_kind(self) -> InputKind:
        given = {name for name in ("exponent", "path", "trace") if getattr(self, name) is not None}
        wanted = {"flat": set(), "zipf": {"exponent"}, "capture": {"path", "trace"}}[self.kind]
        if given != wanted:
            text = ", ".join(sorted(wanted)) or "no other key"
            raise ValueError(f"kind {self.kind} takes {text}")
        return self

    @property
    def label(self) -> str:
        """Return the name that the measurement file uses."""
        suffix = {"flat": "", "zipf": f"_{self.exponent:g}" if self.exponent else "",
                  "capture": f"_{self.trace}"}
        return self.kind + suffix[self.kind]


class Kernel(_Strict):
    """One kernel of ours.

    Sampled ones draw context/keys_per_sample rows per query head; ternary ones take trials.
    """

    name: Literal["dense", "s2anta_flash", "s2anta_comb", "s2anta_prop", "bernoulli_qk",
                  "bernoulli_qk_flash"]
    keys_per_sample: Count | None = None
    trials: Count | None = None
    tile: Count | None = None
    offsets: Literal["own", "shared"] = "own"

    @model_validator(mode="after")
    def _fits_name(self) -> Kernel:
        if (self.name in ("dense", "bernoulli_qk")) != (self.keys_per_sample is None):
            raise ValueError("keys_per_sample goes with every kernel but dense and bernoulli_qk")
        if self.name.startswith("bernoulli_qk") != (self.trials is not None):
            raise ValueError("trials goes with bernoulli_qk and bernoulli_qk_flash only")
        return self


class EnergyWindow(_Strict):
    """How long each call is repeated while the board's energy is read, s."""

    window_s: Annotated[float, Field(ge=1, le=60)]


class Variant(_Strict):
    """Another part of the run: its own geometry, and whatever else differs from the first part."""

    geometry: Geometry
    sizes: Annotated[list[Size], Field(min_length=1)] | None = None
    inputs: Annotated[list[InputKind], Field(min_length=1)] | None = None
    kernels: Annotated[list[Kernel], Field(min_length=1)] | None = None
    peers: list[Peer] | None = None
    l2: Annotated[list[L2], Field(min_length=1)] | None = None


class BenchConfig(_Strict):
    """A whole run: every kernel and peer at every size, on every input, cold and warm.

    energy: if given, each of them is also repeated for seconds and the board's energy read.
    """

    geometry: Geometry
    sizes: Annotated[list[Size], Field(min_length=1)]
    inputs: Annotated[list[InputKind], Field(min_length=1)]
    kernels: Annotated[list[Kernel], Field(min_length=1)]
    peers: list[Peer]
    l2: Annotated[list[L2], Field(min_length=1)]
    repeats: Annotated[int, Field(ge=5)]
    seed: Annotated[int, Field(ge=0)] = 0
    energy: EnergyWindow | None = None
    variants: list[Variant] = []

    def parts(self) -> list[BenchConfig]:
        """Return the run as parts without variants: the file's own lines first."""
        first = self.model_copy(update={"variants": []})
        own = [{key: getattr(v, key) for key in type(v).model_fields
                if getattr(v, key) is not None} for v in self.variants]
        return [first, *(first.model_copy(update=changes) for changes in own)]


def load_config(path: Path) -> BenchConfig:
    """Read and check a bench file; raises `SpecError` with file, line and key."""
    return validate(load(path), BenchConfig)
