"""Writes timelines that https://ui.perfetto.dev opens.

The format is the Trace Event Format (JSON), which needs nothing but `json`. Perfetto's own Python
builder writes protocol buffers and would be a dependency, with one of its own, for this file alone.
Steps of one slot never overlap, and each slot is a track, so that the format's rule that slices of
a track nest is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hw_models.pipeline.power import PowerCurve
from hw_models.pipeline.report import PipelineReport

MICROSECONDS_PER_PS = 1e-6


def write_trace(runs: Mapping[str, tuple[PipelineReport, PowerCurve | None]], path: Path) -> None:
    """Write runs as processes of one trace, slots as their threads, buffers and power as counters.

    runs: name -> report and power. Times are microseconds, as the format wants, with picoseconds
    as decimals. Raises `OSError` if the file cannot be written.
    """
    events = [
        event for number, (name, (report, power)) in enumerate(runs.items(), 1)
        for event in trace_events(number, name, report, power)
    ]
    write_events(events, path)


def write_events(events: Sequence[dict[str, Any]], path: Path) -> None:
    """Write events (of `trace_events`) as one trace; raises `OSError` if it cannot."""
    trace = {"displayTimeUnit": "ns", "traceEvents": list(events)}
    path.write_text(json.dumps(trace, separators=(",", ":")) + "\n", encoding="utf-8")


def trace_events(
    pid: int, name: str, report: PipelineReport, power: PowerCurve | None
) -> Iterator[dict[str, Any]]:
    """Yield the events of one run: names, slices (`X`) and counters (`C`)."""
    yield {"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": name}}
    first: dict[str, int] = {}
    tid = 1
    for use in report.tracks:
        first[use.name] = tid
        for slot in range(use.slots):
            label = use.name if use.slots == 1 else f"{use.name} {slot}"
            for key, value in (("thread_name", {"name": label}),
                               ("thread_sort_index", {"sort_index": tid})):
                yield {"ph": "M", "pid": pid, "tid": tid, "name": key, "args": value}
            tid += 1
    timeline = report.timeline
    rows = zip(
        report.schedule.steps, timeline.start.tolist(), timeline.end.tolist(),
        timeline.slot.tolist(), strict=True,
    )
    for step, start, end, slot in rows:
        args: dict[str, Any] = dict(step.work)
        if step.transfer is not None:
            args["bytes"] = step.transfer.bytes
        yield {
            "ph": "X", "pid": pid, "tid": first[step.track] + slot, "name": step.label,
            "ts": start * MICROSECONDS_PER_PS, "dur": (end - start) * MICROSECONDS_PER_PS,
            "args": args,
        }
    for at, filled in zip(timeline.filled_at.tolist(), timeline.filled.tolist(), strict=True):
        yield {"ph": "C", "pid": pid, "name": "buffers (bytes)", "ts": at * MICROSECONDS_PER_PS,
               "args": {"bytes": filled}}
    if power is not None:
        for at_s, watts in zip(power.edges_s[:-1].tolist(), power.power_w.tolist(), strict=True):
            yield {"ph": "C", "pid": pid, "name": "power (W)", "ts": at_s * 1e6,
                   "args": {"watts": watts}}
