"""What a user asks for: a method's name and parameters, checked before anything runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from hw_models.problems import did_you_mean

Samples = Annotated[int, Field(strict=True, ge=1, le=2**24)]
Tile = Annotated[int, Field(strict=True, ge=1, le=2**20)]
Offsets = Literal["own", "shared"]


DENSE_TILE = 64
"""Default tile of dense values; it changes bookkeeping only, so labels leave it out."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExactScores(_Strict):
    """Scores q·K with multipliers: n·d multiplies and adds per query head."""

    name: Literal["exact"] = "exact"


class BernoulliScores(_Strict):
    """Scores from random ternary queries: ŝ = (c/R) Σ_r Σ_j t_j K_j (arXiv 2605.01910, section 4).

    trials: R, the number of ternary queries that are averaged.
    scale: `exact` takes c = max_j |q_j| and spends one multiply per score on c/R;
        `power_of_two` takes the next larger c for which c/R is a power of two, so that the scale
        is a shift and the digits are a little sparser.
    key_layout: `feature_major` [KVH, d, n] lets features that no digit touches stay unread;
        `token_major` [n, KVH, d] reads every key.
    """

    name: Literal["bernoulli_qk"] = "bernoulli_qk"
    trials: Annotated[int, Field(strict=True, ge=1, le=4096)]
    scale: Literal["exact", "power_of_two"] = "exact"
    key_layout: Literal["feature_major", "token_major"] = "feature_major"


Scores = Annotated[ExactScores | BernoulliScores, Field(discriminator="name")]


class _Valued(_Strict):
    scores: Scores = ExactScores()


class Dense(_Valued):
    """Exact attention Σ p_i v_i, tile by tile with a running maximum."""

    name: Literal["dense"] = "dense"
    tile: Tile = DENSE_TILE


class BernoulliQk(BernoulliScores):
    """Ternary-query scores with dense values; the same as `dense` with those scores."""

    name: Literal["bernoulli_qk"] = "bernoulli_qk"
    tile: Tile = DENSE_TILE


class _Sampled(_Valued):
    """Parameters that every sampled value stage takes.

    samples: S, rows drawn per query head.
    round_samples: `power_of_two` takes the nearest power of two to S instead (ties upwards), so
        that the mean over S rows is a shift.
    offsets: `own` draws per query head, or one draw `shared` by the heads of a KV group.
    """

    samples: Samples
    round_samples: Literal["none", "power_of_two"] = "none"
    offsets: Offsets = "own"


class SantaIid(_Sampled):
    """S independent draws with replacement, mean of the rows."""

    name: Literal["santa_iid"] = "santa_iid"


class SantaStratified(_Sampled):
    """One uniform draw in each [s/S, (s+1)/S) of the CDF."""

    name: Literal["santa_stratified"] = "santa_stratified"


class SantaSystematic(_Sampled):
    """One offset a: count_i = ⌊a + S·C_i⌋ − ⌊a + S·C_{i−1}⌋ with C the CDF."""

    name: Literal["santa_systematic"] = "santa_systematic"


class S2antaFlash(_Sampled):
    """The same budget max(1, ⌊S/T⌋) in every tile, systematic inside, merged by tile mass."""

    name: Literal["s2anta_flash"] = "s2anta_flash"
    tile: Tile = 64


class S2antaProp(_Sampled):
    """Tile budgets by largest remainder, systematic inside, mean over S; biased."""

    name: Literal["s2anta_prop"] = "s2anta_prop"
    tile: Tile = 64


class S2antaComb(_Sampled):
    """Tile budgets from one comb over the tiles, its fraction carried into the tile."""

    name: Literal["s2anta_comb"] = "s2anta_comb"
    tile: Tile = 64


Method = Annotated[
    Dense | BernoulliQk | SantaIid | SantaStratified | SantaSystematic | S2antaFlash | S2antaProp
    | S2antaComb,
    Field(discriminator="name"),
]
"""Any method; in YAML a mapping whose `name` chooses it."""

SampledMethod = (
    SantaIid | SantaStratified | SantaSystematic | S2antaFlash | S2antaProp | S2antaComb
)

METHOD_NAMES: tuple[str, ...] = (
    "dense", "bernoulli_qk", "santa_iid", "santa_stratified", "santa_systematic",
    "s2anta_flash", "s2anta_prop", "s2anta_comb",
)

UNBIASED: frozenset[str] = frozenset(
    {"dense", "santa_iid", "santa_stratified", "santa_systematic", "s2anta_flash", "s2anta_comb"}
)
"""Value stages with E[out] = Σ p_i v_i when the scores are exact (arXiv 2605.01910, section 3)."""

_ADAPTER: TypeAdapter[Any] = TypeAdapter(Method)


def method(name: str, **parameters: Any) -> Any:
    """Return a checked method, e.g. `method("s2anta_comb", samples=256, tile=64)`.

    Raises `ValueError` for an unknown name, with the nearest known one, and
    `pydantic.ValidationError` (a `ValueError`) for an unknown or wrong parameter.
    """
    if name not in METHOD_NAMES:
        raise ValueError(f"no method named {name!r}{did_you_mean(str(name), METHOD_NAMES)}")
    return _ADAPTER.validate_python({"name": name, **parameters})


def requested_samples(spec: SampledMethod) -> int:
    """Return S after the rounding that the method asks for."""
    if spec.round_samples == "none":
        return spec.samples
    lower = 1 << (spec.samples.bit_length() - 1)
    return lower if spec.samples - lower < 2 * lower - spec.samples else 2 * lower


def scores_of(spec: Any) -> ExactScores | BernoulliScores:
    """Return how a method forms its scores."""
    return spec if isinstance(spec, BernoulliQk) else spec.scores


def value_stage(spec: Any) -> str:
    """Return the name of a method's value stage (`dense` for `bernoulli_qk`)."""
    return "dense" if isinstance(spec, BernoulliQk) else str(spec.name)


def label(spec: Any) -> str:
    """Return a short unique text such as `bernoulli_qk R=16 + s2anta_comb S=256 tile=64`."""
    parts = []
    scores = scores_of(spec)
    if isinstance(scores, BernoulliScores):
        text = f"bernoulli_qk R={scores.trials}"
        if scores.scale == "power_of_two":
            text += " 2^k"
        if scores.key_layout == "token_major":
            text += " token-major"
        parts.append(text)
    if not isinstance(spec, BernoulliQk):
        text = str(spec.name)
        if not isinstance(spec, Dense):
            text += f" S={requested_samples(spec)}"
            if requested_samples(spec) != spec.samples:
                text += f" (from {spec.samples})"
            if spec.offsets == "shared":
                text += " shared"
        if hasattr(spec, "tile") and not isinstance(spec, Dense):
            text += f" tile={spec.tile}"
        parts.append(text)
    if isinstance(spec, Dense | BernoulliQk) and spec.tile != DENSE_TILE:
        parts[-1] += f" tile={spec.tile}"
    return " + ".join(parts)
