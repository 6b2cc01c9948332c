"""What accuracy costs: output error against energy, time or bytes, and the Pareto front."""

from __future__ import annotations

from santa_sim.report.error_sentences import error_answer
from santa_sim.report.section import Figure, Section
from santa_sim.report.view import View

_HOW_TO_READ = (
    "Each point is a method; lower left is better. The dotted line is the Pareto front of each "
    "case on each accelerator: nothing has both less error and less cost. What is dominated is "
    "grey. Bars: 95 % interval over seeds (error), range from the constants (cost). Shaded: an "
    "error above 100 %, worse than zeros. Pick points by click or box, or in the table below; all "
    "figures with one bar per point then show these."
)


def pareto(view: View) -> Section:
    """Return the section on error and cost."""
    return Section(
        name="pareto",
        title="Pareto",
        question="What does accuracy cost?",
        answer=error_answer(view),
        figures=(Figure("pareto"), Figure("points", "The points as a table")),
        how_to_read=_HOW_TO_READ if view.points["rel_error"].notna().any() else "",
    )
