"""Figures of a report as image files, drawn by the browser that the reader would use."""

from __future__ import annotations

import shutil
from base64 import b64decode
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote_to_bytes

from hw_models.problems import Problem, SpecError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_WIDTH_PX = 1000
_DRAWN = """async () => {
  let last;
  while (last !== report.drawn) { last = report.drawn; await last; }
  return report.panels.filter((p) => p.spec).map((p) => p.place.dataset.figure);
}"""
_IMAGE = """async ([name, format, width, scale]) => {
  const {plot} = report.panels.find((p) => p.place.dataset.figure === name);
  return Plotly.toImage(plot, {format, width, height: plot.layout.height, scale});
}"""


def save_figures(
    report: Path, folder: Path, kind: str, view: str = "", *, scale: float = 2,
    only: Collection[str] | None = None,
) -> list[Path]:
    """Write every figure of a report as `<figure>.<kind>`; return the files.

    kind: `png` (1000 pixels wide, times `scale`) or `svg`. view: what stands behind `#` in a link
    to a view of the report. only: names of figures; all if None.
    Raises `SpecError` where no browser or no Playwright is there, or nothing is in the view.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SpecError(Problem(
            "figures are drawn by a browser, which needs Playwright: pip install "
            "'santa_sim[export]'"
        )) from None
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise SpecError(Problem(
            f"figures are drawn by a browser, and none of {', '.join(BROWSERS)} is installed"
        ))
    written = []
    with sync_playwright() as playwright:
        # Chromium's sandbox does not start as root, and the page is our own
        running = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = running.new_context(offline=True, viewport={"width": 1100, "height": 900}).new_page()
        page.goto(report.resolve().as_uri() + (f"#{view.lstrip('#')}" if view else ""))
        page.wait_for_function("window.report")
        names = [name for name in page.evaluate(_DRAWN) if only is None or name in only]
        if not names:
            raise SpecError(Problem(f"no figure is in the view '{view}': it selects no point"))
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            path = folder / f"{name}.{kind}"
            path.write_bytes(_bytes(page.evaluate(_IMAGE, [name, kind, _WIDTH_PX, scale])))
            written.append(path)
        running.close()
    return written


def _bytes(url: str) -> bytes:
    head, _, body = url.partition(",")
    return b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
