"""Which unit holds a pipeline up, and the cheapest sizes that keep its memory busy."""

from __future__ import annotations

import itertools
from collections import Counter

from santa_sim.report.event_view import BUSY, EventView, cheapest, holds_up
from santa_sim.report.printed import MISSING, listed, percent, si, times
from santa_sim.report.section import Figure, Said, Section, Table
from santa_sim.report.view import View

NOTABLE = 1.05
"""Ratio of times from which on a layout is said to matter."""


def event_map(view: View) -> Section | None:
    """Return the section on bottlenecks, if the study ran in time."""
    events = EventView.of(view)
    if events is None:
        return None
    return Section(
        name="pipeline",
        title="Pipeline",
        question="Which unit holds the pipeline up, and what keeps its memory busy?",
        answer=(_bottlenecks(events), *_layouts(events)),
        tables=(_cheapest_table(events),),
        figures=(Figure("pipeline"),),
        how_to_read="Each field is one run. Colour and upper number: share of the time that the "
        "memory alone would need for the same bursts. Below: the busiest resource and its share; "
        "where it is far from 100 %, transfers and stages wait for one another.",
        data={"events": events.runs[[
            "row", "run", "kv_layout", "sizes", "event_time_s", "memory_share", "bottleneck",
            "bottleneck_share", "buffer_bytes",
        ]].sort_values("row", kind="stable")},
    )


def _bottlenecks(events: EventView) -> Said:
    said = []
    for name, title in events.accelerators.items():
        rows = [row for point in events.points for row in events.rows(point, name)]
        held = Counter(map(holds_up, rows))
        waiting = held.pop("waiting", 0)
        parts = [f"{what} holds up {count}" for what, count in held.most_common()]
        if waiting:
            parts.append(f"{waiting} wait: nothing is busy for {percent(BUSY)} of the time")
        said.append(f"{title}: of {len(rows)} runs, {listed(parts)}.")
    return Said("", tuple(said))


def _layouts(events: EventView) -> list[Said]:
    """Say what the worst layout costs, each at its best sizes."""
    worst: tuple[float, str] | None = None
    for point, name in itertools.product(events.points, events.accelerators):
        best: dict[str, float] = {}
        for row in events.rows(point, name):
            layout = str(row["kv_layout"])
            best[layout] = min(best.get(layout, row["event_time_s"]), row["event_time_s"])
        if len(best) < 2:
            continue
        slow, fast = max(best, key=best.__getitem__), min(best, key=best.__getitem__)
        ratio = best[slow] / best[fast]
        text = (
            f"The layout matters most for {point.label} on {events.accelerators[name]}: each at "
            f"its best sizes, {slow} takes {times(ratio)} as long as {fast}."
        )
        worst = max(worst or (0.0, ""), (ratio, text))
    if worst is None:
        return []
    if worst[0] < NOTABLE:
        return [Said("", ("The layout changes no time by more than a few percent.",))]
    return [Said("", (worst[1],))]


def _cheapest_table(events: EventView) -> Table:
    rows = []
    for point, (name, title) in itertools.product(events.points, events.accelerators.items()):
        found = events.rows(point, name)
        if not found:
            continue
        row = cheapest(found)
        if row is None:
            best = max(found, key=lambda r: float(r["memory_share"]))
            rows.append((
                point.label, title, f"none; most: {best['run']}", MISSING,
                percent(best["memory_share"]), si(best["event_time_s"], "s"),
            ))
            continue
        rows.append((
            point.label, title, str(row["run"]), si(row["buffer_bytes"], "B"),
            percent(row["memory_share"]), si(row["event_time_s"], "s"),
        ))
    return Table(
        header=("method and attention", "accelerator", "cheapest run", "buffers", "memory busy",
                "time"),
        rows=tuple(rows), numeric=frozenset({3, 4, 5}),
        caption="The run with the fewest buffer bytes that keeps the memory busy for "
        f"{percent(BUSY)} of the time; of equals the one with the slowest units. No area is "
        "charged: none was found that fits all units.",
    )
