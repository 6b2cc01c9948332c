"""From point results and evaluations to the rows of the result tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hw_models.accelerator import Accelerator
from hw_models.catalogue import constants_used
from hw_models.evaluate import Evaluation
from hw_models.ledger import Figure, Level, OpKind, Tensor
from hw_models.lowering import Misfit
from santa_sim.methods.spec import (
    BernoulliScores,
    label,
    requested_samples,
    scores_of,
    value_stage,
)
from santa_sim.report.tables import ACCOUNTS
from santa_sim.study.datasets import Dataset
from santa_sim.study.point import PointResult

STREAM_GRANULARITY_BYTES = 32
"""Sector of every GPU here, and burst of LPDDR5; the tables' moved bytes are rounded to it."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """A numbered (dataset, method) pair."""

    number: int
    dataset: Dataset
    method: Any


def identity(point: Point) -> Row:
    """Return the columns that say what a point is."""
    shape, spec = point.dataset.shape, point.method
    scores = scores_of(spec)
    sampled = hasattr(spec, "samples")
    return {
        "point": point.number, "source": point.dataset.source, "dataset": point.dataset.name,
        "geometry": point.dataset.geometry, "layer": point.dataset.layer,
        "context": point.dataset.context, "batch": shape.batch,
        "num_qo_heads": shape.num_qo_heads, "num_kv_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim, "dtype": str(shape.dtype), "method": label(spec),
        "score_stage": str(scores.name), "value_stage": value_stage(spec),
        "samples_requested": requested_samples(spec) if sampled else None,
        "trials": scores.trials if isinstance(scores, BernoulliScores) else None,
        "tile": getattr(spec, "tile", None), "offsets": getattr(spec, "offsets", None),
    }


def mean_count(count: int, runs: int) -> int:
    """Return count / runs, rounded to the nearest whole number (half up)."""
    return (2 * count + runs) // (2 * runs)


def counts(result: PointResult, point: Point) -> Row:
    """Return the columns that do not depend on an accelerator; bytes at 32-byte granularity."""
    ledger = result.total.rounded_to(STREAM_GRANULARITY_BYTES)

    def mean_bytes(figure: Figure, **which: Any) -> int:
        return mean_count(ledger.bytes(figure, **which), result.runs)

    return {
        "samples_effective": result.samples_effective, "seeds": result.seeds,
        "rel_error": result.rel_error, "rel_error_low": result.rel_error_low,
        "rel_error_high": result.rel_error_high,
        "unique_row_fraction": result.unique_row_fraction,
        "k_bytes": mean_bytes("moved", tensor=Tensor.K),
        "v_bytes": mean_bytes("moved", tensor=Tensor.V),
        "q_out_bytes": mean_bytes("moved", tensor=Tensor.Q)
        + mean_bytes("moved", tensor=Tensor.OUT),
        "workspace_bytes": mean_bytes("workspace"),
        "logical_bytes": mean_bytes("logical", level=Level.MAIN),
        "unique_bytes": mean_bytes("unique", level=Level.MAIN),
        "moved_bytes": mean_bytes("moved", level=Level.MAIN),
        "kv_cache_bytes": point.dataset.shape.kv_cache_bytes,
    }


def on_accelerator(
    evaluation: Evaluation | Misfit, accelerator: Accelerator, runs: int
) -> Row:
    """Return the columns of one point on one accelerator; no costs where it does not fit.

    evaluation: of the sum of `runs` ledgers; time bounds and energies are linear in the counts, so
    their means are the shares of it.
    """
    row: Row = {
        "accelerator": accelerator.name, "accelerator_title": accelerator.title,
        "fits": isinstance(evaluation, Evaluation),
        "misfit": "", "bound": "",
    }
    if isinstance(evaluation, Misfit):
        return {**row, "misfit": misfit_text(evaluation, runs)}
    time = evaluation.time
    row |= {
        "multiplies": mean_count(evaluation.lowered.ledger.count(OpKind.MULTIPLY), runs),
        "adds": mean_count(evaluation.lowered.ledger.count(OpKind.ADD), runs),
        "time_s": time.time_s.nominal / runs, "time_low_s": time.time_s.low / runs,
        "time_high_s": time.time_s.high / runs,
        "time_no_overlap_s": time.no_overlap_time_s.nominal / runs, "bound": time.bound,
    }
    for account in ACCOUNTS:
        if account in evaluation.energy:
            joules = evaluation.energy[account].total_j
            row |= {f"{account}_energy_j": joules.nominal / runs,
                    f"{account}_energy_low_j": joules.low / runs,
                    f"{account}_energy_high_j": joules.high / runs}
    return row


def misfit_text(misfit: Misfit, runs: int) -> str:
    """Return what a machine lacks, with the counts of one run."""
    missing = tuple(replace(op, count=mean_count(op.count, runs)) for op in misfit.missing)
    return str(replace(misfit, missing=missing))


def operations(
    number: int, evaluation: Evaluation | Misfit, accelerator: str, result: PointResult
) -> Iterator[Row]:
    """Yield operation counts as executed, or as asked for where the accelerator cannot."""
    shown = evaluation.lowered.ledger if isinstance(evaluation, Evaluation) else result.total
    totals: dict[tuple[str, str, str], int] = {}
    for op, count in shown.ops.items():
        key = str(op.phase), str(op.kind), str(op.dtype)
        totals[key] = totals.get(key, 0) + count * (
            op.multiplicity if op.kind is OpKind.ACCUMULATE else 1
        )
    for (phase, kind, dtype), count in totals.items():
        yield {"point": number, "accelerator": accelerator, "phase": phase, "kind": kind,
               "dtype": dtype, "count": mean_count(count, result.runs)}


def streams(number: int, result: PointResult) -> Iterator[Row]:
    """Yield bytes by tensor, level, direction and pattern, segment sizes summed."""
    rounded = result.total.rounded_to(STREAM_GRANULARITY_BYTES)
    totals: dict[tuple[str, str, str, str], Row] = {}
    for key in rounded.streams:
        name = str(key.tensor), str(key.level), str(key.direction), str(key.pattern)
        row = totals.setdefault(name, {
            "point": number, "tensor": name[0], "level": name[1], "direction": name[2],
            "pattern": name[3], "logical_bytes": 0, "unique_bytes": 0, "moved_bytes": 0,
            "workspace_bytes": 0,
        })
        for figure in ("logical", "unique", "moved", "workspace"):
            row[f"{figure}_bytes"] += rounded.stream_bytes(key, figure)
    for row in totals.values():
        yield {
            name: mean_count(value, result.runs) if name.endswith("_bytes") else value
            for name, value in row.items()
        }


def energy_parts(
    number: int, evaluation: Evaluation, accelerator: str, runs: int
) -> Iterator[Row]:
    """Yield joules by account, part, boundary and constant, phases summed."""
    for account, report in evaluation.energy.items():
        totals: dict[tuple[str, str, str], list[float]] = {}
        for part in report.parts:
            key = part.name, str(part.boundary), part.constant
            sums = totals.setdefault(key, [0.0, 0.0, 0.0])
            for i, end in enumerate((part.energy_j.low, part.energy_j.nominal, part.energy_j.high)):
                sums[i] += end
        for (name, boundary, constant), (low, nominal, high) in totals.items():
            yield {"point": number, "accelerator": accelerator, "account": account, "part": name,
                   "boundary": boundary, "constant": constant, "low_j": low / runs,
                   "nominal_j": nominal / runs, "high_j": high / runs}


def busy(number: int, evaluation: Evaluation, accelerator: str, runs: int) -> Iterator[Row]:
    """Yield the seconds for which each resource works, phases summed."""
    totals: dict[str, list[float]] = {}
    for resources in evaluation.time.busy_s.values():
        for resource, time in resources.items():
            sums = totals.setdefault(resource, [0.0, 0.0, 0.0])
            for i, end in enumerate((time.low, time.nominal, time.high)):
                sums[i] += end
    for resource, (low, nominal, high) in totals.items():
        yield {"point": number, "accelerator": accelerator, "resource": resource,
               "low_s": low / runs, "nominal_s": nominal / runs, "high_s": high / runs}


def constants(accelerator: Accelerator) -> Iterator[Row]:
    """Yield the catalogue constants behind an accelerator's numbers."""
    for row in constants_used(accelerator):
        yield {
            "accelerator": accelerator.name, "path": row.path, "value": row.value, "low": row.low,
            "high": row.high, "unit": row.unit,
            "boundary": str(row.boundary) if row.boundary else "",
            "source": row.source, "confidence": row.confidence, "unverified": row.unverified,
        }


@dataclass
class Collector:
    """Rows of the result tables, gathered point by point."""

    accelerators: Sequence[Accelerator]
    points: list[Row] = field(default_factory=list)
    operations: list[Row] = field(default_factory=list)
    streams: list[Row] = field(default_factory=list)
    energy: list[Row] = field(default_factory=list)
    busy: list[Row] = field(default_factory=list)

    @property
    def constants(self) -> list[Row]:
        """The catalogue constants behind all accelerators."""
        return [row for accelerator in self.accelerators for row in constants(accelerator)]

    def add(
        self, point: Point, result: PointResult, evaluation: Evaluation | Misfit,
        accelerator: Accelerator,
    ) -> None:
        """Take in a point on one accelerator."""
        self.points.append({
            **identity(point), **counts(result, point),
            **on_accelerator(evaluation, accelerator, result.runs),
            "status": "ok", "error": "",
        })
        self.operations.extend(
            operations(point.number, evaluation, accelerator.name, result)
        )
        if isinstance(evaluation, Evaluation):
            self.energy.extend(
                energy_parts(point.number, evaluation, accelerator.name, result.runs)
            )
            self.busy.extend(busy(point.number, evaluation, accelerator.name, result.runs))

    def add_streams(self, point: Point, result: PointResult) -> None:
        """Take in the byte streams of a point, which no accelerator changes."""
        self.streams.extend(streams(point.number, result))

    def failed(
        self, point: Point, error: str, accelerators: Sequence[Accelerator]
    ) -> None:
        """Take in a point that could not be computed or costed, one row per accelerator."""
        self.points.extend(
            {**identity(point), "accelerator": accelerator.name,
             "accelerator_title": accelerator.title, "fits": False, "misfit": "", "bound": "",
             "status": "failed", "error": error}
            for accelerator in accelerators
        )


def joined(parts: Iterable[Collector], accelerators: Sequence[Accelerator]) -> Collector:
    """Return the rows of several collectors one after the other."""
    whole = Collector(accelerators)
    for part in parts:
        whole.points.extend(part.points)
        whole.operations.extend(part.operations)
        whole.streams.extend(part.streams)
        whole.energy.extend(part.energy)
        whole.busy.extend(part.busy)
    return whole
