"""One point of a study: a method on a dataset, over all its steps and seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.ledger import Ledger, total
from santa_sim.data.attention import AttentionStep
from santa_sim.methods import decode, expect
from santa_sim.methods.spec import BernoulliScores, scores_of, value_stage
from santa_sim.study.precision import estimate_mean
from santa_sim.study.spec import Seeds

_HELD_LEDGERS = 256
"""Ledgers that are held before they are added up."""


@dataclass(frozen=True)
class PointResult:
    """What a method did on a dataset.

    total: sum of the ledgers of all `runs` (steps × seeds); a sum, since counts are whole numbers
    and their means are not. rel_error: mean over heads, steps and seeds of
    ‖out − exact‖₂/‖exact‖₂, with its 95 % interval over seeds (equal ends for a method without
    randomness, NaN for a single seed and at the expected level).
    unique_row_fraction: V rows read at least once over rows, mean over KV heads.
    samples_effective: rows drawn per query head, mean. seeds: seeds that were run.
    """

    total: Ledger
    runs: int
    rel_error: float
    rel_error_low: float
    rel_error_high: float
    unique_row_fraction: float
    samples_effective: float
    seeds: int


    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and lists that `from_dict` turns back into an equal result."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return {
            "total": self.total.to_dict(),
            **{name: None if math.isnan(x) else x for name, x in numbers.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> PointResult:
        """Rebuild a result from `to_dict`; raises `ValueError` or `KeyError` where it is none."""
        numbers: dict[str, Any] = {
            name: math.nan if data[name] is None else data[name] for name in _NUMBERS
        }
        return PointResult(total=Ledger.from_dict(data["total"]), **numbers)


_NUMBERS = (
    "runs", "rel_error", "rel_error_low", "rel_error_high", "unique_row_fraction",
    "samples_effective", "seeds",
)


def is_random(method: Any) -> bool:
    """Return whether a method's result depends on the seed."""
    return value_stage(method) != "dense" or isinstance(scores_of(method), BernoulliScores)


def run_sampled(
    method: Any, steps: Sequence[AttentionStep], exact: Sequence[NDArray[np.float64]], seeds: Seeds
) -> PointResult:
    """Run a method on every step with as many seeds as the study asks (one if nothing is random).

    steps: of one dataset, with equal `represents`. exact: float64 [B, H, d] per step. Raises
    `ValueError` if scores are not finite.
    """
    ledgers: list[Ledger] = []
    unique, samples = [], []

    def one_seed(i: int) -> float:
        errors = []
        for step, wanted in zip(steps, exact, strict=True):
            result = decode(
                method, step.q, step.k, step.v, seq_lens=step.seq_lens, sm_scale=step.sm_scale,
                seed=seeds.first + i, step=step.step, layer=step.layer,
                check_finite=False,  # an AttentionStep has looked already
            )
            errors.append(_relative_error(result.out, wanted))
            ledgers.append(result.ledger)
            unique.append(_fraction(result.unique_rows, step.seq_lens))
            samples.append(float(result.effective_samples.mean()))
        if len(ledgers) >= _HELD_LEDGERS:
            ledgers[:] = [total(ledgers)]
        return float(np.mean(errors))

    if is_random(method):
        per_seed, half = estimate_mean(one_seed, seeds)
    else:
        per_seed, half = np.array([one_seed(0)]), 0.0
    error = float(per_seed.mean())
    return PointResult(
        total=total(ledgers) * steps[0].represents, runs=len(per_seed) * len(steps),
        rel_error=error, rel_error_low=max(0.0, error - half),
        rel_error_high=error + half, unique_row_fraction=float(np.mean(unique)),
        samples_effective=float(np.mean(samples)), seeds=len(per_seed),
    )


def run_expected(method: Any, steps: Sequence[AttentionStep]) -> PointResult:
    """Evaluate the closed forms of a method on every step; there is no output, so no error."""
    ledgers, unique, samples = [], [], []
    for step in steps:
        result = expect(method, step.q, step.k, seq_lens=step.seq_lens, sm_scale=step.sm_scale)
        ledgers.append(result.ledger)
        unique.append(_fraction(result.unique_rows, step.seq_lens))
        samples.append(result.samples)
    return PointResult(
        total=total(ledgers) * steps[0].represents, runs=len(ledgers),
        rel_error=math.nan, rel_error_low=math.nan, rel_error_high=math.nan,
        unique_row_fraction=float(np.mean(unique)), samples_effective=float(np.mean(samples)),
        seeds=0,
    )


def _relative_error(out: NDArray[np.float32], exact: NDArray[np.float64]) -> float:
    """Return the mean over heads of ‖out − exact‖/‖exact‖; a head whose exact output is 0 counts
    only if the output is not.
    """
    difference = np.linalg.norm(out - exact, axis=-1)
    size = np.linalg.norm(exact, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(difference == 0, 0.0, difference / size)
    if not np.isfinite(ratio).all():
        raise ValueError("relative error is not finite: the exact output of a head is zero")
    return float(ratio.mean())


def _fraction(unique: NDArray[Any], lens: NDArray[np.int64]) -> float:
    rows = lens[lens > 0]
    return float((unique[lens > 0] / rows[:, None]).mean()) if len(rows) else 0.0
