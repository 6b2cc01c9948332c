"""Synthetic attention: q, K and V in a model's geometry whose softmax follows a stated law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hw_models.ledger import Dtype
from hw_models.problems import Problem, SpecError
from santa_sim.data.attention import AttentionStep
from santa_sim.data.geometry import Geometry
from santa_sim.data.latent import LatentFactors, draw_factors
from santa_sim.data.laws import SyntheticLaw, solve_scale
from santa_sim.data.synthetic_keys import CHUNK_ROWS, TernaryTarget, fill_keys
from santa_sim.storage import STORED, encode

__all__ = ["SyntheticLaw", "make_step"]

QUERY_DENSITY = 0.17
"""Part of the features that one ternary trial touches, if nothing else is asked for.

Measured on SmolLM2-135M: 0.16 to 0.17 on average over layers and heads, at 2k to 8k keys.
"""


LOWEST_LOGIT = 20.0
"""Depth below the largest logit at which logits are cut: at 2^17 keys below 3e-4 of the mass."""


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
    key_value_coupling: ArrayLike = 0.0,
) -> AttentionStep:
    """Return a decode step with softmax(q·Kᵀ·sm_scale) of the law, and 1/Σp² as asked.

    q has features of Weibull magnitudes; K = Σ_g L_g D_g / sm_scale + Z, with L the logits, D the
    dual basis of the group's queries and Z normal in the space that no query of the group sees; V
    is a common direction plus normal noise, with features of mean square 1.

    geometry: H, KVH and d; context: n; batch: B; dtype: storage format of K and V.
    seed: of the data; with the KV head and the sequence it keys every number, so a sequence is the
    same in any batch.
    simulated_kv_heads: KV heads to make, a divisor of KVH; each stands for KVH/that many.
    The rest is per query head, [simulated_kv_heads·G], or one number for all:
    effective_support: 1/Σp² in rows; the stored arrays meet it within 3 %.
    ternary_rmse_logits: root of the mean over the keys of sm_scale² Σ_j (c·|q_j| - q_j²) (K_ij -
    mean_i K_ij)², c = max_j|q_j|: error of a score under one ternary query (`bernoulli_qk`, R = 1),
    less what all keys share, which no softmax sees; in logits. Met on average over draws of Z. By
    default q and Z have features of variance 1.
    query_density: mean_j|q_j| / max_j|q_j|, the part of the features that such a trial touches.
    value_coherence: ‖Σ p_i v_i‖² / Σ p_i‖v_i‖², within 1/effective support..1; rows drawn
    independently err by sqrt((1/that - 1)/S) of the output. The heads of a group share V, so the
    mean over the group is met, on average over draws. By default values are independent, which
    gives 1/effective support.
    key_value_coupling: part of the variance of Z and of the noise of V along a few factors that a
    row's key and value share; the mean over the group is taken. Errors of scores then move the
    output together and do not average out over a large support.

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
    coupling = _per_head("key_value_coupling", key_value_coupling, heads, 0, 1).reshape(shape)

    q = np.empty((batch, heads, geometry.head_dim), np.float32)
    k = np.empty((batch, context, simulated_kv_heads, geometry.head_dim), STORED[dtype])
    v = np.empty_like(k)
    for b in range(batch):
        for h in range(simulated_kv_heads):
            rng = np.random.default_rng([seed, h, b])
            logits = _logits(rng, law, context, support[h])
            factors = draw_factors(
                rng, context, geometry.head_dim - geometry.group_size, float(coupling[h].mean())
            )
            ternary = TernaryTarget(None if rmse is None else rmse[h], density[h])
            own = slice(h * geometry.group_size, (h + 1) * geometry.group_size)
            q[b, own] = fill_keys(
                k[b, :, h], rng, logits, geometry.sm_scale, dtype, ternary, factors
            )
            common = 0.0
            if coherence is not None:
                common = _common_share(float(coherence[h].mean()), float((1 / support[h]).mean()))
            _fill_values(v[b, :, h], rng, common, dtype, factors)
    return AttentionStep(
        q=q, k=k, v=v, seq_lens=np.full(batch, context, np.int64), sm_scale=geometry.sm_scale,
        layer=0, step=0, label=f"{geometry.name} {law.kind}",
        source=f"synthetic:{geometry.name}/{law.kind}",
        represents=geometry.num_kv_heads // simulated_kv_heads,
    )


def _logits(
    rng: np.random.Generator, law: SyntheticLaw, context: int, support: NDArray[np.float64]
) -> NDArray[np.float32]:
    logits = law.pattern(rng, support.size, context)
    for head, target in enumerate(support):
        logits[head] *= np.float32(solve_scale(logits[head], float(target), law))
    # rows that far down weigh nothing, but their logits would have to be in the keys
    lowest = logits.max(axis=1, keepdims=True) - np.float32(LOWEST_LOGIT)
    np.maximum(logits, lowest, out=logits)
    return logits


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
    out: NDArray[Any], rng: np.random.Generator, common: float, dtype: Dtype,
    factors: LatentFactors,
) -> None:
    head_dim = out.shape[1]
    direction = rng.standard_normal((head_dim,), dtype=np.float32)
    direction *= np.float32(np.sqrt(common * head_dim) / np.linalg.norm(direction))
    along = factors.directions(rng.standard_normal((factors.rank, head_dim))).astype(np.float32)
    own = np.float32(np.sqrt(1 - factors.share if factors.rank else 1.0))
    for start in range(0, out.shape[0], CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        values = rng.standard_normal(out[rows].shape, dtype=np.float32)
        values *= own
        values += factors.scores[rows] @ along
        values *= np.float32(np.sqrt(1 - common))
        values += direction
        out[rows] = encode(values, dtype)
