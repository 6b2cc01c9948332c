"""The offline report at 10,000 points: building it, opening it, changing a filter.

    python benchmarks/report.py [--rows 10000] [--study studies/quickstart.yaml]

A point is a row of the result table: a dataset, method and accelerator. Times in the browser are of
headless Chromium (software rendering) through Playwright: until the figures in sight show the new
state, and until all do. Prints a table; see README.md.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path

from large_runs import large_run
from playwright.sync_api import Page, sync_playwright

from santa_sim.report.build import write_report

CHANGE = """async (patch) => {
  const start = performance.now();
  report.update(patch);
  await report.drawn;
  return [report.inSight - start, performance.now() - start];
}"""


def changes(page: Page, section: str) -> list[tuple[float, float]]:
    """Return (in sight, all) milliseconds of filter changes with a section in sight."""
    page.evaluate("(s) => document.getElementById(s).scrollIntoView()", section)
    facets = page.evaluate("Object.fromEntries(Object.entries(report.data.facets)"
                           ".map(([k, f]) => [k, f.values]))")
    everything = dict.fromkeys(facets)
    found = []
    for name, values in facets.items():
        if len(values) < 2:
            continue
        one, others = {**everything, name: values[:1]}, {**everything, name: values[1:]}
        for patch in (one, everything, others):
            found.append(tuple(page.evaluate(CHANGE, patch)))
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--study", default="studies/quickstart.yaml")
    options = parser.parse_args()
    tables = large_run(options.study, options.rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        start = time.perf_counter()
        write_report(tables, path)
        print(f"rows            {len(tables.points):,}")
        print(f"built           {time.perf_counter() - start:.2f} s, "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB at most")
        print(f"size            {path.stat().st_size / 1e6:.2f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            opened = []
            for _ in range(5):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(path.as_uri())
                page.wait_for_function("window.report")
                opened.append(page.evaluate("report.drawn.then(() => [report.firstSight, "
                                            "performance.now()])"))
                if len(opened) < 5:
                    page.close()
            first, whole = (statistics.median(o[i] for o in opened) for i in (0, 1))
            print(f"opened          {first:.0f} ms until in sight, {whole:.0f} ms until all")
            for section in ("summary", "pareto", "bytes", "energy", "time", "scaling"):
                times = changes(page, section)
                seen, done = ([t[i] for t in times] for i in (0, 1))
                print(f"filter, {section:<8}{statistics.median(seen):5.0f} ms in sight "
                      f"(at most {max(seen):.0f}), {statistics.median(done):5.0f} ms all "
                      f"(at most {max(done):.0f})")
            browser.close()


if __name__ == "__main__":
    main()
