"""From a decode step and its exact rows to a schedule that a pipeline can run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw_models.accelerator import Accelerator
from hw_models.dram import DramSpec
from hw_models.energy import EnergyReport, energy
from hw_models.entries import Phase
from hw_models.ledger import Ledger
from hw_models.lowering import Lowered, Misfit, lower
from hw_models.pipeline import Schedule
from hw_models.quantity import Interval
from santa_sim.event.flow import Flow, tile_of
from santa_sim.event.layout import CacheMap, CacheShape, KvLayout
from santa_sim.event.tiles import StepShape, head_tiles
from santa_sim.methods.decode import DrawnRows
from santa_sim.methods.spec import BernoulliScores, scores_of


@dataclass(frozen=True)
class Plan:
    """A schedule with what its steps stand for.

    lowered: the counts that the steps share, to the last operation. phases: of each step.
    """

    schedule: Schedule
    lowered: Lowered
    phases: tuple[Phase, ...]


def plan(
    method: Any, shape: StepShape, rows: DrawnRows | None, ledger: Ledger,
    accelerator: Accelerator, layout: KvLayout, memory: DramSpec,
) -> Plan | Misfit:
    """Return the schedule of one decode step on one accelerator, or why it cannot run there.

    rows, ledger: what `santa_sim.methods.decode` returned for `method` and a step of this shape:
    the rows are read, the ledger is lowered and dealt out. Within a KV head a phase is split over
    tiles by keys (score, softmax), scanned keys and draws (sample) and drawn rows (value); sums are
    exact.
    layout: of the cache in `memory`, whose bursts round moved bytes.
    Raises `ValueError` for data or methods that have no exact addresses: heads that stand for
    others, or keys stored feature by feature.
    """
    refuse_inexact(method, shape.represents)
    lowered = lower(ledger, accelerator)
    if isinstance(lowered, Misfit):
        return lowered
    tile = tile_of(method)
    cache = CacheShape(shape.batch, shape.rows, shape.kv_heads, shape.row_bytes, tile)
    places = CacheMap(layout, cache, memory, shape.group_size * shape.row_bytes)
    flow = Flow(method, places, shape.row_bytes, shape.head_dim, shape.group_size)
    for tiles in head_tiles(rows, shape, tile):
        flow.add_head(tiles)
    work = flow.shares.dealt(lowered.work, len(flow.steps))
    steps = tuple(replace(s, work=own) for s, own in zip(flow.steps, work, strict=True))
    return Plan(Schedule(steps), lowered, tuple(flow.phases))


def refuse_inexact(method: Any, represents: int) -> None:
    """Raise `ValueError` for a method, or heads, of which not every address is known."""
    if represents > 1:
        raise ValueError(
            "the event level needs the rows of every KV head, and each head here stands for "
            f"{represents}; leave simulated_kv_heads out"
        )
    scores = scores_of(method)
    if isinstance(scores, BernoulliScores) and scores.key_layout != "token_major":
        raise ValueError(
            "the event level reads keys row by row; give bernoulli_qk key_layout: token_major"
        )


def energy_of(plan: Plan, accelerator: Accelerator, account: str, time_s: float) -> EnergyReport:
    """Return what the counts of a plan cost in one account over a run of `time_s` seconds."""
    return energy(plan.lowered, accelerator, account, Interval.exact(time_s))


def step_energies(plan: Plan, report: EnergyReport) -> tuple[NDArray[np.float64], float]:
    """Return (float64 [steps], joules of each step; joules of static power), nominal.

    Memory and staging go to the transfers of their phase by bytes, arithmetic and the buffer's own
    traffic to the computations by operations. The sum is that of `report`.
    """
    steps = plan.schedule.steps
    phases = np.array([list(Phase).index(phase) for phase in plan.phases])
    moved = np.array([0 if s.transfer is None else s.transfer.bytes for s in steps], np.float64)
    writes = np.array([s.transfer is not None and s.transfer.is_write for s in steps])
    done = np.array([sum(s.work.values()) for s in steps], np.float64)
    done[moved > 0] = 0.0  # making addresses is arithmetic of the phase, not of a transfer
    weights = {
        "main memory read": moved * ~writes, "row activation": moved * ~writes,
        "staging": moved * ~writes, "main memory write": moved * writes,
    }
    joules, static = np.zeros(len(steps)), 0.0
    for part in report.parts:
        if part.phase is None:
            static += part.energy_j.nominal
            continue
        own = np.where(phases == list(Phase).index(part.phase), weights.get(part.name, done), 0.0)
        if not own.any():  # all counts of a phase are 0 but for a buffer that it passes through
            own = (phases == list(Phase).index(part.phase)).astype(np.float64)
        joules += own * (part.energy_j.nominal / own.sum())
    return joules, static
