"""Laws of attention scores: the shape of one head's logits over the keys, up to a scale.

Every law draws a pattern u of a head over the keys; the logits are β·u. The effective support
1/Σp² of p = softmax(β·u) falls from n at β = 0 as β grows, so β is what is solved for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from statistics import NormalDist
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from hw_models.strict_yaml import Problem, SpecError

LARGEST_LOGIT = 100.0
"""Most that a law's largest logit may stand above the mean; bf16 would round off the rest."""

SUPPORT_TOLERANCE = 1e-3
"""Relative error of the effective support at which the search for β stops."""

LEAST_LEAD = 0.3
"""Lead of the largest logit over the next in `SinkLocalHeavy`, in units of its background."""

Height = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Law(BaseModel, ABC):
    model_config = ConfigDict(extra="forbid", frozen=True)

    head_overlap: Annotated[float, Field(ge=0, le=1)] = 0.6

    solved: ClassVar[str]

    @abstractmethod
    def pattern(
        self, rng: np.random.Generator, heads: int, context: int
    ) -> NDArray[np.float32]:
        """Return u, float32 [heads, n], in the law's own units."""

    def _order(self, rng: np.random.Generator, heads: int, context: int) -> NDArray[np.int64]:
        """Return for each head the keys [heads, n] in falling order of a standard normal.

        The normals of two heads of a group correlate by `head_overlap`.
        """
        common = rng.standard_normal(context, dtype=np.float32)
        own = rng.standard_normal((heads, context), dtype=np.float32)
        own *= np.float32(np.sqrt(1 - self.head_overlap))
        own += np.float32(np.sqrt(self.head_overlap)) * common
        return np.argsort(own, axis=1)[:, ::-1]

    def _scatter(
        self, rng: np.random.Generator, heads: int, by_rank: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Return [heads, n] holding `by_rank` [n] at each head's own order of the keys."""
        order = self._order(rng, heads, by_rank.size)
        pattern = np.empty(order.shape, dtype=np.float32)
        np.put_along_axis(pattern, order, by_rank[None], axis=1)
        return pattern


@lru_cache(maxsize=4)
def _normal_quantiles(count: int) -> NDArray[np.float32]:
    """Return the `count` quantiles of a standard normal at (i + ½)/count, falling."""
    # quantiles and not draws: two draws that nearly tie for the largest would put a floor of 2
    # rows under the effective support
    upper = [NormalDist().inv_cdf((i + 0.5) / count) for i in range((count + 1) // 2)]
    falling = -np.array(upper, dtype=np.float32)
    return np.concatenate([falling, -falling[: count // 2][::-1]])


class FlatGaussian(_Law):
    """Logits β·z_i, z the quantiles of a standard normal: no structure, rows scattered evenly.

    head_overlap: correlation of z between the heads of a group. Solved: β, the standard deviation.
    """

    kind: Literal["flat_gaussian"] = "flat_gaussian"
    solved: ClassVar[str] = "standard deviation of the logits"

    def pattern(
        self, rng: np.random.Generator, heads: int, context: int
    ) -> NDArray[np.float32]:
        """Return u, float32 [heads, n]: normal quantiles at scattered keys."""
        return self._scatter(rng, heads, _normal_quantiles(context))


class Zipf(_Law):
    """Probabilities p ∝ rank^-β at scattered keys.

    head_overlap: the heads rank the keys by normals that correlate this much. Solved: β, the
    exponent.
    """

    kind: Literal["zipf"] = "zipf"
    solved: ClassVar[str] = "exponent"

    def pattern(
        self, rng: np.random.Generator, heads: int, context: int
    ) -> NDArray[np.float32]:
        """Return u = -ln(rank), float32 [heads, n], at scattered keys."""
        return self._scatter(rng, heads, -np.log(np.arange(1, context + 1)).astype(np.float32))


class SinkLocalHeavy(_Law):
    """An attention sink, recent keys and heavy hitters on a Gaussian background.

    u_i = z_i + local_height·max(0, 1 - ln(1 + n - 1 - i) / ln(1 + local_window)), z the quantiles
    of a standard normal; at the heavy hitters heavy_height + e_i takes the place of z_i, e the
    quantiles of Exp(1); u_i = sink_height at the first tokens. Heights are in standard deviations
    of the background. The largest u is lifted to stand `LEAST_LEAD` above the next.

    head_overlap: correlation of z within a group, and the fraction of the heavy hitters that stand
    at the same keys in all its heads (with other e_i). Solved: β, the inverse temperature.

    The defaults are set on SmolLM2-135M (layers 0, 2, 7 and 11, 2k and 8k keys): in all heads the
    mean logit falls with the logarithm of the distance, and at the effective support of each head
    the law gives, in the geometric mean over the heads, 0.96 times the rows that 256 systematic
    draws read and 1.3 times the 64-key tiles, (Σ_t w_t²)^-1 of tile masses w, that hold the mass.
    """

    kind: Literal["sink_local_heavy"] = "sink_local_heavy"
    solved: ClassVar[str] = "inverse temperature"

    sink_tokens: Annotated[int, Field(ge=0)] = 1
    sink_height: Height = 4.0
    local_window: Annotated[int, Field(ge=1)] = 2048
    local_height: Height = 3.0
    heavy_hitters: Annotated[int, Field(ge=0)] = 8
    heavy_height: Height = 1.0

    def pattern(
        self, rng: np.random.Generator, heads: int, context: int
    ) -> NDArray[np.float32]:
        """Return u, float32 [heads, n]; with fewer keys than heavy hitters, all are heavy."""
        pattern = self._scatter(rng, heads, _normal_quantiles(context))
        heavy = min(self.heavy_hitters, context)
        heights = self.heavy_height - np.log((np.arange(heavy) + 0.5) / max(heavy, 1))
        shared = round(self.head_overlap * heavy)
        keys = rng.permutation(context)
        for head in range(heads):
            own = rng.choice(keys[shared:], heavy - shared, replace=False)
            pattern[head, np.concatenate([keys[:shared], own])] = rng.permutation(heights)
        distance = np.arange(context - 1, -1, -1)
        recency = np.maximum(0, 1 - np.log1p(distance) / np.log1p(self.local_window))
        pattern += (self.local_height * recency).astype(np.float32)
        pattern[:, : self.sink_tokens] = self.sink_height
        if context > 1:
            # without a lead of one key, supports near 1 would be out of reach by chance
            second, first = np.partition(pattern, (-2, -1), axis=1)[:, -2:].T
            largest = pattern.argmax(axis=1)[:, None]
            lifted = np.maximum(first, second + np.float32(LEAST_LEAD))
            np.put_along_axis(pattern, largest, lifted[:, None], axis=1)
        return pattern


SyntheticLaw = Annotated[FlatGaussian | Zipf | SinkLocalHeavy, Field(discriminator="kind")]
"""Any law, told apart by `kind` (the form in which a study names one)."""


def effective_support(pattern: NDArray[np.float32], scale: float) -> float:
    """Return 1/Σp² of p = softmax(scale·pattern).

    pattern: float32 [n], n >= 1; scale: logits per unit of pattern, >= 0. Returns 1..n.
    """
    weight = np.exp(np.float32(scale) * (pattern - pattern.max()))
    total = float(weight.sum(dtype=np.float64))
    return total * total / float(np.square(weight).sum(dtype=np.float64))


def solve_scale(pattern: NDArray[np.float32], target: float, law: _Law) -> float:
    """Return the scale β at which softmax(β·pattern) has the target effective support.

    pattern: float32 [n]; target: rows, 1/Σp² to meet within `SUPPORT_TOLERANCE`; law: for messages.
    1/Σp² never rises with β (its log has the slope 2(E_β[u] - E_2β[u]) <= 0), so bisection
    finds it.
    Raises `SpecError` naming the reachable range if the target is outside it.
    """
    spread = float(pattern.max() - pattern.mean(dtype=np.float64))
    highest = LARGEST_LOGIT / spread if spread > 0 else 0.0
    least = effective_support(pattern, highest)
    if not least <= target <= pattern.size:
        raise SpecError(
            Problem(
                f"{target:g} rows cannot be reached by {law.kind} over {pattern.size} keys: "  # type: ignore[attr-defined]
                f"its {law.solved} reaches {least:.4g} to {pattern.size}",
                path=("effective_support",),
            )
        )
    low, high = 0.0, highest
    scale = found = 0.0
    for _ in range(100):
        scale = (low + high) / 2
        found = effective_support(pattern, scale)
        if abs(found - target) <= SUPPORT_TOLERANCE * target:
            break
        low, high = (scale, high) if found > target else (low, scale)
    return scale
