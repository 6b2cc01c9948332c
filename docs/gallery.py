"""The gallery of the README, from a run of the named study.

    python -m santa_sim.study studies/ternary_multiplier_free.yaml
    python docs/gallery.py runs/ternary_multiplier_free

Writes `docs/gallery/*.png` with the Chromium or Chrome that is installed (extra `export`).
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from santa_sim.report.browser import save_figures
from santa_sim.report.build import write_report
from santa_sim.report.load import load_run
from santa_sim.report.view import View

FOLDER = Path(__file__).parent / "gallery"
FIGURES = ("pareto", "roofline", "scaling", "tornado")


def main() -> None:
    """Draw the figures for the longest synthetic context, on the edge engine with LPDDR5."""
    tables = load_run(Path(sys.argv[1]))
    case = max((c for c in View(tables).cases if not c.is_capture), key=lambda c: c.context)
    view = urlencode({"attention": case.attention, "context": case.context})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        write_report(tables, report)
        save_figures(report, FOLDER, "png", f"?{view}", scale=1, only=FIGURES)


if __name__ == "__main__":
    main()
