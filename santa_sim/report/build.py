"""Build the report of a study: one HTML file that can be sent to a colleague."""

from __future__ import annotations

from pathlib import Path

from santa_sim.report.break_even_section import break_even_section
from santa_sim.report.byte_streams import byte_streams
from santa_sim.report.energy_parts import energy_parts
from santa_sim.report.error_energy import error_energy
from santa_sim.report.operation_counts import operation_counts
from santa_sim.report.page import page
from santa_sim.report.printed import listed, several
from santa_sim.report.section import Section
from santa_sim.report.sources import sources
from santa_sim.report.summary import summary
from santa_sim.report.tables import ReportTables
from santa_sim.report.time_bounds import time_bounds
from santa_sim.report.view import View

_SECTIONS = (
    summary, byte_streams, operation_counts, energy_parts, time_bounds, error_energy,
    break_even_section, sources,
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
    return page(tables.title, tables.question, byline, report_sections(view))


def report_sections(view: View) -> list[Section]:
    """Return the sections of the report, in order."""
    return [section(view) for section in _SECTIONS]
