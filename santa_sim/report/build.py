"""Build the report of a study: one HTML file that can be sent to a colleague."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from santa_sim.report.break_even_section import break_even_section
from santa_sim.report.byte_streams import byte_streams
from santa_sim.report.energy_parts import energy_parts
from santa_sim.report.event_map import event_map
from santa_sim.report.event_tracks import event_timeline, event_tracks
from santa_sim.report.kernel_ratios import kernel_ratios
from santa_sim.report.operation_counts import operation_counts
from santa_sim.report.packed import packed
from santa_sim.report.page import page
from santa_sim.report.page_data import ROUNDED, page_facts, page_tables
from santa_sim.report.pareto import pareto
from santa_sim.report.predicted_measured import predicted_measured
from santa_sim.report.printed import listed, several
from santa_sim.report.scaling import scaling
from santa_sim.report.section import Section
from santa_sim.report.sources import sources
from santa_sim.report.summary import summary
from santa_sim.report.tables import ReportTables
from santa_sim.report.time_bounds import time_bounds
from santa_sim.report.view import View

_SECTIONS: tuple[Callable[[View], Section | None], ...] = (
    summary, pareto, byte_streams, operation_counts, energy_parts, time_bounds, event_map,
    event_tracks, event_timeline, scaling, predicted_measured, kernel_ratios, break_even_section,
    sources,
)


def write_report(tables: ReportTables, path: Path) -> None:
    """Write the report to `path`, UTF-8; raises `OSError` if it cannot be written."""
    path.write_text(build_html(tables), encoding="utf-8")


def build_html(tables: ReportTables) -> str:
    """Return the report as one HTML page that loads nothing."""
    view = View(tables)
    counted = listed([
        several(len(view.cases), "kind of attention", "kinds of attention"),
        several(view.points["method"].nunique(), "method", "methods"),
        several(len(view.accelerators), "accelerator", "accelerators"),
    ])
    byline = (
        f"Study {tables.study_name}: {counted}. Every number is per decode step and layer, and "
        "predicted by a model, not measured."
    )
    sections = report_sections(view)
    carried = page_tables(view)
    for section in sections:
        carried |= section.data
    data = packed(carried, page_facts(view), ROUNDED)
    return page(tables.title, tables.question, byline, sections, data)


def report_sections(view: View) -> list[Section]:
    """Return the sections of the report for which the run has something, in order."""
    return [found for section in _SECTIONS if (found := section(view)) is not None]
