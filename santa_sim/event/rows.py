"""From runs to the rows of the event tables, and which runs get a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hw_models.accelerator import Accelerator
from hw_models.pipeline import PipelineReport, PowerCurve, power_curve
from hw_models.pipeline.machine import PICOSECONDS
from santa_sim.event.plan import Plan, energy_of, step_energies

ACCOUNTS = ("device", "board")
EXCERPT_STEPS = 240
POWER_BINS = 200

EVENT_COLUMNS = (
    "point", "accelerator", "run", "kv_layout", "depth", "rates", "status", "error",
    "event_time_s", "roofline_time_s", "memory_alone_s", "bottleneck", "bottleneck_share",
    "memory_share", "bus_share", "row_hit_share", "activations", "memory_bytes",
    "dram_energy_j", "device_energy_j", "board_energy_j", "buffer_bytes", "sram_high_bytes",
    "unit_rates",
)
"""One row per point, accelerator and run. `unit_rates`: op/s of all units together."""
TRACK_COLUMNS = (
    "point", "accelerator", "run", "track", "slots", "steps", "busy_s", "stalled_s", "blocked_s",
    "idle_s",
)
STEP_COLUMNS = ("point", "accelerator", "run", "track", "slot", "label", "start_s", "end_s")
"""An excerpt from the middle of the runs that get a timeline."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Traced:
    """A run with all that a timeline shows."""

    report: PipelineReport
    power: PowerCurve


def event_row(plan: Plan, report: PipelineReport, accelerator: Accelerator) -> Row:
    """Return the figures of one run."""
    total = report.channels.total
    requests = int(total.requests[0])
    row: Row = {
        "status": "ok", "error": "", "event_time_s": report.time_s,
        "roofline_time_s": report.bounds.roofline_s,
        "memory_alone_s": report.bounds.memory_alone_s, "bottleneck": report.bottleneck,
        "bottleneck_share": report.shares[report.bottleneck], "memory_share": report.memory_share,
        "bus_share": report.bus_share,
        "row_hit_share": int(total.row_hits[0]) / requests if requests else 0.0,
        "activations": int(total.activations[0]), "memory_bytes": report.memory_bytes,
        "dram_energy_j": report.memory_energy.total_j.nominal,
        "buffer_bytes": sum(report.machine.buffers[b] for b in report.schedule.largest),
        "sram_high_bytes": report.sram_high_bytes,
        "unit_rates": float(sum(report.machine.rates.values())),
    }
    for account in ACCOUNTS:
        if account in accelerator.accounts:
            joules = energy_of(plan, accelerator, account, report.time_s).total_j
            row[f"{account}_energy_j"] = joules.nominal
    return row


def track_rows(report: PipelineReport) -> Iterator[Row]:
    """Yield how each track spent the time."""
    for use in report.tracks:
        yield {"track": use.name, "slots": use.slots, "steps": use.steps, "busy_s": use.busy_s,
               "stalled_s": use.stalled_s, "blocked_s": use.blocked_s, "idle_s": use.idle_s}


def step_rows(report: PipelineReport) -> Iterator[Row]:
    """Yield the steps that run around the middle of the run, in order of start."""
    timeline = report.timeline
    order = np.argsort(timeline.start, kind="stable")
    middle = int(np.searchsorted(timeline.start[order], timeline.end.max(initial=0) // 2))
    first = max(0, middle - EXCERPT_STEPS // 2)
    for i in order[first : first + EXCERPT_STEPS].tolist():
        step = report.schedule.steps[i]
        yield {"track": step.track, "slot": int(timeline.slot[i]), "label": step.label,
               "start_s": float(timeline.start[i] / PICOSECONDS),
               "end_s": float(timeline.end[i] / PICOSECONDS)}


def traced(plan: Plan, report: PipelineReport, accelerator: Accelerator) -> Traced:
    """Return a run with its power in the widest account that the accelerator has."""
    account = [name for name in ACCOUNTS if name in accelerator.accounts][-1]
    joules, static_j = step_energies(
        plan, energy_of(plan, accelerator, account, report.time_s)
    )
    static_w = static_j / report.time_s
    return Traced(report, power_curve(report.timeline, joules, static_w, POWER_BINS))
