"""How the stages of a pipeline spend the time, and an excerpt of their timeline."""

from __future__ import annotations

from santa_sim.report.event_view import EventView
from santa_sim.report.printed import percent, si
from santa_sim.report.section import Figure, Said, Section
from santa_sim.report.view import View


def event_tracks(view: View) -> Section | None:
    """Return the section on busy and waiting stages, if the study ran in time."""
    events = EventView.of(view)
    if events is None:
        return None
    return Section(
        name="stages",
        title="Stages",
        question="How do the engines and stages spend the time?",
        answer=(_closest(events),),
        figures=(Figure("stages"),),
        how_to_read="An engine is busy while its transfers are on their way, however fast the "
        "memory is; a stage that is stalled waits for an earlier one, one that is blocked for room "
        "behind it.",
        data={"event_tracks": events.tracks[[
            "row", "run", "track", "slots", "busy_s", "stalled_s", "blocked_s", "idle_s",
        ]].sort_values("row", kind="stable")},
    )


def _closest(events: EventView) -> Said:
    said = []
    for name, title in events.accelerators.items():
        runs = [(point, row) for point in events.points for row in events.rows(point, name)]
        point, row = min(
            runs, key=lambda found: float(found[1]["event_time_s"] / found[1]["roofline_time_s"])
        )
        said.append(
            f"{title} comes closest to its roofline with {point.label}, {row['run']}: "
            f"{si(row['event_time_s'], 's')} against {si(row['roofline_time_s'], 's')}, "
            f"{row['bottleneck']} busy for {percent(row['bottleneck_share'])} of the time."
        )
    return Said("", tuple(said))


def event_timeline(view: View) -> Section | None:
    """Return an excerpt of the timelines of the first runs, if the study ran in time."""
    events = EventView.of(view)
    if events is None or events.steps.empty:
        return None
    steps = events.steps.sort_values("row", kind="stable")
    begin = steps.groupby("row")["start_s"].transform("min")
    return Section(
        name="timeline",
        title="Timeline",
        question="What happens when?",
        figures=(Figure("timeline"),),
        how_to_read="From the middle of a run, one line per slot. A bar is one step: a tile that "
        "is fetched, scored, weighed, drawn from, gathered or added; gaps are waiting. "
        "timeline.json beside this report holds whole runs and opens in ui.perfetto.dev.",
        data={"event_steps": steps.assign(
            start_s=steps["start_s"] - begin, end_s=steps["end_s"] - begin
        )[["row", "run", "track", "slot", "label", "start_s", "end_s"]]},
    )
