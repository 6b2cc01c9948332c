"""Synthetic attention: q, K and V in a model's geometry whose softmax follows a stated law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hw_models.ledger import Dtype
from hw_models.problems import Problem, SpecError
from santa_sim.data.attention import AttentionStep
from santa_sim.data.geometry import Geometry
from santa_sim.data.laws import SyntheticLaw, solve_scale
from santa_sim.data.synthetic_keys import CHUNK_ROWS, TernaryTarget, fill_keys
from santa_sim.storage import STORED, encode

__all__ = ["SyntheticLaw", "make_step"]

QUERY_DENSITY = 0.17
"""Part of the features that one ternary trial touches, if nothing else is asked for.

Measured on SmolLM2-135M: 0.16 to 0.17 on average over layers and heads, at 2k to 8k keys.
"""


def make_step(
    geometry: Geometry,
    context: int,
    batch: int,
    law: SyntheticLaw,
    dtype: Dtype,
    seed: int,
    *,
    simulated_kv_heads: int,
    effective_support: ArrayLike,
    ternary_rmse_logits: ArrayLike | None = None,
    query_density: ArrayLike = QUERY_DENSITY,
    value_coherence: ArrayLike | None = None,
) -> AttentionStep:
    """Return a decode step with softmax(q·Kᵀ·sm_scale) of the law, and 1/Σp² as asked.

    q has features of Weibull magnitudes; K = LᵀD/sm_scale + Z, with L the logits, D the dual basis
    of the group's queries and Z normal in the space that no query of the group sees; V is one
    common direction plus normal noise, with mean square 1.

    geometry: H, KVH and d; context: n; batch: B; dtype: storage format of K and V.
    seed: of the data; with the KV head and the sequence it keys every number, so a sequence is the
    same in any batch.
    simulated_kv_heads: KV heads to make, a divisor of KVH; each stands for KVH/that many.
    The rest is per query head, [simulated_kv_heads·G], or one number for all:
    effective_support: rows 1/Σp²; the stored arrays meet it within 2 %.
    ternary_rmse_logits: root mean square error over the keys of a score under one ternary query
    (`bernoulli_qk`, R = 1), in logits, as sm_scale² Σ_j (c·|q_j| - q_j²) K_ij² has it. By default
    q and Z have features of variance 1.
    query_density: mean_j|q_j| / max_j|q_j|, the part of the features that such a trial touches.
    value_coherence: ‖Σ p_i v_i‖² / Σ p_i‖v_i‖², within 1/effective support..1; rows drawn
    independently err by sqrt((1/that - 1)/S). The heads of a group share V, so they match in the
    mean; by default values are independent, and it is 1/effective support.

    Raises `SpecError` naming the parameter and its range if a number is out of it.
    """
    heads = _checked_heads(geometry, context, batch, simulated_kv_heads)
    shape = (simulated_kv_heads, geometry.group_size)
    support = _per_head("effective_support", effective_support, heads, 1, np.inf).reshape(shape)
    density = _per_head(
        "query_density", query_density, heads, 1 / geometry.head_dim, 1
    ).reshape(shape)
    rmse = coherence = None
    if ternary_rmse_logits is not None:
        rmse = _per_head("ternary_rmse_logits", ternary_rmse_logits, heads, 0, np.inf)
        rmse = rmse.reshape(shape)
    if value_coherence is not None:
        coherence = _per_head("value_coherence", value_coherence, heads, 0, 1).reshape(shape)

    q = np.empty((batch, heads, geometry.head_dim), np.float32)
    k = np.empty((batch, context, simulated_kv_heads, geometry.head_dim), STORED[dtype])
    v = np.empty_like(k)
    for b in range(batch):
        for h in range(simulated_kv_heads):
            rng = np.random.default_rng([seed, h, b])
            logits = law.pattern(rng, geometry.group_size, context)
            for head, target in enumerate(support[h]):
                logits[head] *= np.float32(solve_scale(logits[head], float(target), law))
            ternary = TernaryTarget(None if rmse is None else rmse[h], density[h])
            own = slice(h * geometry.group_size, (h + 1) * geometry.group_size)
            q[b, own] = fill_keys(k[b, :, h], rng, logits, geometry.sm_scale, dtype, ternary)
            common = 0.0
            if coherence is not None:
                common = _common_share(float(coherence[h].mean()), float((1 / support[h]).mean()))
            _fill_values(v[b, :, h], rng, common, dtype)
    return AttentionStep(
        q=q, k=k, v=v, seq_lens=np.full(batch, context, np.int64), sm_scale=geometry.sm_scale,
        layer=0, step=0, label=f"{geometry.name} {law.kind}",
        source=f"synthetic:{geometry.name}/{law.kind}",
        represents=geometry.num_kv_heads // simulated_kv_heads,
    )


def _checked_heads(geometry: Geometry, context: int, batch: int, simulated: int) -> int:
    for name, number in (("context", context), ("batch", batch)):
        if number < 1:
            raise SpecError(Problem(f"must be at least 1, got {number}", path=(name,)))
    if simulated < 1 or geometry.num_kv_heads % simulated:
        raise SpecError(Problem(
            f"must divide the {geometry.num_kv_heads} KV heads of {geometry.name}, got {simulated}",
            path=("simulated_kv_heads",),
        ))
    if geometry.group_size > geometry.head_dim:
        raise SpecError(Problem(
            f"{geometry.group_size} query heads per KV head cannot have independent logits in "
            f"{geometry.head_dim} dimensions", path=("geometry",),
        ))
    return simulated * geometry.group_size


def _per_head(
    name: str, numbers: ArrayLike, heads: int, low: float, high: float
) -> NDArray[np.float64]:
    given: NDArray[Any] = np.asarray(numbers, dtype=np.float64)
    if given.shape not in ((), (heads,)):
        raise SpecError(Problem(
            f"must be one number or one per query head, [{heads}], got {list(given.shape)}",
            path=(name,),
        ))
    wrong = ~(np.isfinite(given) & (given >= low) & (given <= high))
    if wrong.any():
        limit = f"within {low:g}..{high:g}" if np.isfinite(high) else f"at least {low:g}"
        bad = float(given.reshape(-1)[int(wrong.reshape(-1).argmax())])
        raise SpecError(Problem(f"must be finite and {limit}, got {bad:g}", path=(name,)))
    return np.broadcast_to(given, (heads,))


def _common_share(coherence: float, repeated: float) -> float:
    """Return the share of the values' mean square that is common to all rows.

    coherence: mean over a group's heads; repeated: mean of Σp², which independent values have.
    """
    if coherence < 0.99 * repeated:
        raise SpecError(Problem(
            f"must be within {repeated:.3g}..1 for this effective support, got {coherence:.3g}",
            path=("value_coherence",),
        ))
    return max(0.0, (coherence - repeated) / (1 - repeated)) if repeated < 1 else 0.0


def _fill_values(
    out: NDArray[Any], rng: np.random.Generator, common: float, dtype: Dtype
) -> None:
    direction = rng.standard_normal((out.shape[1],), dtype=np.float32)
    direction *= np.float32(np.sqrt(common * out.shape[1]) / np.linalg.norm(direction))
    for start in range(0, out.shape[0], CHUNK_ROWS):
        part = out[start : start + CHUNK_ROWS]
        values = rng.standard_normal(part.shape, dtype=np.float32)
        values *= np.float32(np.sqrt(1 - common))
        values += direction
        part[...] = encode(values, dtype)
