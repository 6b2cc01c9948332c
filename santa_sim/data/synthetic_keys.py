"""Queries and keys that give stated logits, and a stated error under ternary queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Dtype
from hw_models.problems import Problem, SpecError
from santa_sim.data.latent import LatentFactors
from santa_sim.storage import decode_stored, encode

CHUNK_ROWS = 256
"""Rows that are made together: float32 intermediates stay in a core's cache, and the products with
the few queries are too small for BLAS to spread them over threads, which would cost more."""

FEATURE_OVERLAP = 0.5
"""Correlation, within a group, of the normals that say which features of a query are large.

With it, three heads of a group touch 0.91 times the features in one ternary trial that independent
queries would; in the captures of SmolLM2-135M it is 0.90 to 0.94 times.
"""

_STEPS_OF_NORMS = 50

LARGEST_CONDITION = 100.0
"""Most that the condition number of a group's queries may be, or rounding would move the logits."""


@dataclass(frozen=True, eq=False)
class TernaryTarget:
    """What single-trial ternary queries should show, per query head of a group.

    rmse_logits: float64 [G], root of the mean over the keys of sm_scale² Σ_j (c·|q_j| - q_j²)
    (K_ij - mean_i K_ij)², in logits, or None: queries and the part of keys that no query sees then
    have features of variance 1.
    density: float64 [G], within 1/d..1, part of the features that one trial is expected to touch,
    mean_j|q_j| / max_j|q_j|.
    """

    rmse_logits: NDArray[np.float64] | None
    density: NDArray[np.float64]


def magnitudes(count: int, density: float) -> NDArray[np.float64]:
    """Return `count` falling magnitudes with max 1 and mean `density`.

    They are quantiles of a Weibull law, (-ln u)^γ up to scale, γ found by bisection: γ = ½ is the
    Rayleigh law, 1 the exponential. count: d; density: within 1/d..1.
    """
    logs = np.log(-np.log((np.arange(count) + 0.5) / count))
    logs -= logs[0]
    low, high = 0.0, 64.0
    for _ in range(60):
        shape = (low + high) / 2
        low, high = (shape, high) if np.exp(shape * logs).mean() > density else (low, shape)
    return np.asarray(np.exp(low * logs))


def _shapes(
    rng: np.random.Generator, head_dim: int, density: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return queries up to scale, float64 [G, d], with mean square 1."""
    heads = density.size
    common = rng.standard_normal(head_dim)
    rank_by = np.sqrt(FEATURE_OVERLAP) * common
    rank_by = rank_by + np.sqrt(1 - FEATURE_OVERLAP) * rng.standard_normal((heads, head_dim))
    shapes = np.empty((heads, head_dim))
    for head, order in enumerate(np.argsort(-rank_by, axis=1)):
        shapes[head, order] = magnitudes(head_dim, float(density[head]))
    shapes *= rng.choice((-1.0, 1.0), shapes.shape)
    if np.linalg.cond(shapes) > LARGEST_CONDITION:
        raise SpecError(Problem(
            f"must be higher than {float(density.min()):.3g} for {heads} query heads per KV head: "
            "their queries would be nearly parallel", path=("query_density",),
        ))
    return np.asarray(shapes / np.sqrt(np.square(shapes).mean(axis=1, keepdims=True)))


def _trial_weights(query: NDArray[np.float64]) -> NDArray[np.float64]:
    # variance of one ternary digit, c·|q_j| - q_j², for every feature
    size = np.abs(query)
    return np.asarray(size * (size.max(axis=1, keepdims=True) - size))


def _scaled(
    shapes: NDArray[np.float64], spread: NDArray[np.float64], sm_scale: float,
    unseen: NDArray[np.float64], target: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the shapes scaled so that one ternary trial errs by `target` [G] logits.

    The keys are Σ_g L_g D_g + Z with D the dual basis of q and Z off the span of q. The share of
    the first term does not change when every q grows; that of Z grows as q². With unequal scales
    the heads depend on each other, hence the few steps of a fixed point.
    spread: float64 [G, G], mean of L Lᵀ over the keys; unseen: float64 [d], variance of Z.
    """
    dual = np.linalg.pinv(shapes).T
    weights = _trial_weights(shapes)
    by_noise = sm_scale**2 * (weights @ unseen)
    if not by_noise.all():
        raise SpecError(Problem(
            "cannot be above 0 for a query of density 1, whose ternary digits are certain",
            path=("ternary_rmse_logits",),
        ))
    scale = target / np.sqrt(by_noise)
    for _ in range(_STEPS_OF_NORMS):
        seen = dual / scale[:, None]
        by_logits = scale**2 * (weights @ np.einsum("aj,bj,ab->j", seen, seen, spread))
        left = np.maximum(target**2 - by_logits, 0)
        if not left.all():
            least = float(np.sqrt(by_logits[left == 0].max()))
            raise SpecError(Problem(
                f"{float(target[left == 0].min()):g} logits cannot be reached: the logits alone "
                f"give {least:.3g} for a query of this density",
                path=("ternary_rmse_logits",),
            ))
        new = np.sqrt(left / by_noise)
        if np.allclose(new, scale, rtol=1e-6):
            break
        scale = new
    return np.asarray(shapes * scale[:, None])


def fill_keys(
    out: NDArray[Any], rng: np.random.Generator, logits: NDArray[np.float32], sm_scale: float,
    dtype: Dtype, ternary: TernaryTarget, factors: LatentFactors,
) -> NDArray[np.float32]:
    """Write the keys of one KV head and return its queries.

    K = Σ_g L_g D_g / sm_scale + Z: D is the dual basis of the queries, Z has variance 1 off their
    span, of which the factors take their share.
    out: [n, d] in the storage type, overwritten. logits: float32 [G, n], G <= d; q·K·sm_scale meets
    them up to a constant per head and the rounding of K to `dtype`. factors: r <= d - G.
    Returns q, float32 [G, d], already rounded to `dtype`.
    Raises `SpecError` if the ternary target cannot be reached with these logits.
    """
    head_dim = out.shape[1]
    shapes = _shapes(rng, head_dim, ternary.density)
    inside = np.linalg.pinv(shapes) @ shapes
    free = rng.standard_normal((factors.rank, head_dim))
    along = factors.directions(free - free @ inside)
    own = 1 - factors.share if factors.rank else 1.0
    centred = logits - logits.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    if ternary.rmse_logits is not None:
        spread = centred.astype(np.float64) @ centred.T.astype(np.float64) / logits.shape[1]
        unseen = own * (1 - np.diag(inside)) + np.square(along).sum(axis=0)
        shapes = _scaled(shapes, spread, sm_scale, unseen, ternary.rmse_logits)
    # the keys are made for the query as rounded, so that only the keys' rounding moves the logits
    query = decode_stored(encode(shapes, dtype))
    dual = np.linalg.pinv(query.astype(np.float64)).T.astype(np.float32)
    for start in range(0, out.shape[0], CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        part = centred[:, rows].T / np.float32(sm_scale)
        keys = rng.standard_normal((part.shape[0], head_dim), dtype=np.float32)
        keys *= np.float32(np.sqrt(own))
        keys += factors.scores[rows] @ along.astype(np.float32)
        keys += (part - keys @ query.T) @ dual
        out[rows] = encode(keys, dtype)
    return query
