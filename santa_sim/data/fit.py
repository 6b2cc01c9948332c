"""What synthetic attention takes over from a capture: measured per head, then spread over heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from santa_sim.data.attention import AttentionStep
from santa_sim.data.capture import Capture
from santa_sim.data.latent import MOST_FACTORS
from santa_sim.storage import decode_stored

DIFFUSE_SHARE = 0.1
"""Effective support per key above which a head counts as diffuse, so that it grows with n.

SmolLM2-135M over 2k, 4k and 8k keys of the same texts: layer 0 keeps 0.19 of the keys (388 rows at
2k, 1602 at 8k), while in the other layers the median is 1.5 to 64 rows and does not grow with n.
"""


@dataclass(frozen=True, eq=False)
class HeadStatistics:
    """Figures of query heads, each float64 [heads], one entry per step, sequence and query head.

    context: n, keys that the head reads; support: 1/Σp² in rows; the others as `make_step` defines
    its ternary_rmse_logits, query_density, value_coherence and key_value_coupling.
    """

    context: NDArray[np.float64]
    support: NDArray[np.float64]
    rmse_logits: NDArray[np.float64]
    density: NDArray[np.float64]
    coherence: NDArray[np.float64]
    coupling: NDArray[np.float64]


def head_statistics(steps: list[AttentionStep]) -> HeadStatistics:
    """Measure every query head of the steps; sequences without keys are left out."""
    found = [
        _measured(step, b, h)
        for step in steps
        for b in range(step.batch)
        if step.seq_lens[b]
        for h in range(step.num_kv_heads)
    ]
    return HeadStatistics(*np.concatenate(found, axis=1))


def _measured(step: AttentionStep, b: int, h: int) -> NDArray[np.float64]:
    n, group = int(step.seq_lens[b]), step.group_size
    query = step.q[b, h * group : (h + 1) * group]
    keys = decode_stored(step.k[b, :n, h])
    keys -= keys.mean(axis=0)  # a common shift of the scores changes nothing below
    values = decode_stored(step.v[b, :n, h])
    p = (query * np.float32(step.sm_scale)) @ keys.T
    p = np.exp(p - p.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)

    size = np.abs(query).astype(np.float64)
    top = size.max(axis=1)
    digits = step.sm_scale**2 * size * (top[:, None] - size)  # logits² per variance of a feature
    variance = digits @ np.square(keys).mean(axis=0, dtype=np.float64)
    repeated = np.square(p).sum(axis=1, dtype=np.float64)
    out = p @ values
    strength = np.square(out).sum(axis=1, dtype=np.float64)
    square = np.square(values).sum(axis=1)
    coherence = _ratio(strength, p @ square, 1.0)
    # one trial moves the output by Σ_i p_i e_i (v_i - o), e the errors of the scores
    moved = np.stack([(row[:, None] * keys).T @ values for row in p])
    moved -= (p @ keys)[:, :, None] * out[:, None, :]
    error = np.einsum("gj,gj->g", digits, np.square(moved).sum(axis=2, dtype=np.float64))
    # Σ_i p_i² |v_i - o|², what it would be for independent errors of variance 1
    weight = np.square(p)
    alone = weight @ square - 2 * np.einsum("gd,gd->g", weight @ values, out) + repeated * strength
    spread = p @ square - strength
    coupled = _ratio(
        MOST_FACTORS * (error - variance * alone), variance * spread * (1 - repeated), 0.0
    )
    return np.stack([
        np.full(group, float(n)), 1 / repeated, np.sqrt(variance),
        _ratio(size.mean(axis=1), top, 1.0), np.clip(coherence, 0, 1),
        np.sqrt(np.clip(coupled, 0, 1)),
    ])


def _ratio(
    above: NDArray[np.floating[Any]], below: NDArray[np.floating[Any]], without: float
) -> NDArray[np.float64]:
    """Return above/below, and `without` where below is not positive."""
    ratio = np.full(below.shape, without)
    np.divide(above, below, out=ratio, where=below > 0)
    return ratio


@dataclass(frozen=True, eq=False)
class Fit:
    """Statistics of a capture's heads, to be laid over any number of heads and any context.

    heads: what was measured; every head of every step counts the same.
    """

    heads: HeadStatistics

    def parameters(self, num_heads: int, context: int) -> dict[str, Any]:
        """Return keyword arguments for `make_step`, each float64 [num_heads].

        The captured heads are taken in order of their support at that context and cut into
        num_heads equal parts; a head gets the mean of its part: of the log of the support, of the
        variance of scores, of the density, of the coupling, and of sqrt(1/coherence - 1), to which
        the error of independent draws is proportional. So the supports keep their quantiles, and
        the means over the heads are kept.

        Supports carry over to another context in rows, except for diffuse heads, whose support is
        above `DIFFUSE_SHARE`·n: they carry over as a share of the keys. A support in rows that
        would make a head diffuse at a short context is lowered to that share. Neither rule lowers
        a support below √n, or very short contexts would have but one key that counts. The rest does
        not depend on the context.
        num_heads: at least 1; context: n of the synthetic step.
        """
        heads = self.heads
        share = heads.support / heads.context
        rows = np.where(
            share > DIFFUSE_SHARE, np.maximum(share * context, context**0.5),
            np.minimum(heads.support, max(DIFFUSE_SHARE * context, context**0.5)),
        )
        order = np.argsort(rows, kind="stable")
        support = np.exp(_part_means(np.log(np.maximum(rows, 1))[order], num_heads))
        rmse = np.sqrt(_part_means(np.square(heads.rmse_logits)[order], num_heads))
        spread = _part_means(np.sqrt(1 / heads.coherence - 1)[order], num_heads)
        return {
            "effective_support": support,
            "ternary_rmse_logits": rmse,
            # rounding may carry a mean of shares past 1
            "query_density": np.minimum(1, _part_means(heads.density[order], num_heads)),
            "key_value_coupling": np.minimum(1, _part_means(heads.coupling[order], num_heads)),
            # rows agree at least with themselves
            "value_coherence": np.maximum(1 / (1 + np.square(spread)), 1 / support),
        }


def _part_means(ordered: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Return the means of `parts` equal parts of a sequence, which may split an entry."""
    total = np.concatenate([[0.0], np.cumsum(ordered)])
    edges = np.linspace(0, ordered.size, parts + 1)
    sums = np.diff(np.interp(edges, np.arange(ordered.size + 1), total))
    return np.asarray(sums * parts / ordered.size)


def fit_capture(capture: Capture) -> Fit:
    """Return what synthetic attention can take over from all traces and steps of a capture."""
    return Fit(head_statistics(capture.steps()))
