"""How costs grow with context, batch and S, and where a method crosses the baseline."""

from __future__ import annotations

from santa_sim.report.section import Figure, Section
from santa_sim.report.view import View


def scaling(view: View) -> Section | None:
    """Return the section on scaling; None where the study varies nothing that could scale."""
    columns = ("context", "batch", "samples_requested")
    if all(view.points[column].nunique() < 2 for column in columns):
        return None
    return Section(
        name="scaling",
        title="Scaling",
        question="How does it scale, and from where does a method pay?",
        figures=(Figure("scaling"),),
        how_to_read="One line per method, accelerator and kind of attention. Open circles: where "
        "a method crosses the baseline, interpolated straight on logarithmic axes between the "
        "points that were run.",
    )
