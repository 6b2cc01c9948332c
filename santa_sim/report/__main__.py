"""`python -m santa_sim.report RUN`: rebuild the report of a run from its results alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hw_models.problems import Problem, SpecError
from santa_sim.report.browser import save_figures
from santa_sim.report.build import write_report
from santa_sim.report.load import load_run

OK, BAD_INPUT = 0, 2
REPORT = "report.html"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, or 2 for wrong input or a place that cannot be written."""
    options = _parser().parse_args(arguments)
    try:
        for path in _run(options):
            print(path)  # noqa: T201
    except SpecError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return BAD_INPUT
    return OK


def _run(options: argparse.Namespace) -> list[Path]:
    tables = load_run(options.run)
    target = options.out or options.run / REPORT
    hidden = target.with_name(f".{target.name}")
    try:
        # moved when it is complete, so that a report is never half one
        write_report(tables, hidden)
        hidden.replace(target)
    except OSError as error:
        hidden.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise SpecError(Problem(f"cannot be written: {reason}", str(target))) from None
    written = [target]
    for kind, folder in (("png", options.png), ("svg", options.svg)):
        if folder is not None:
            try:
                written += save_figures(target, folder, kind, options.view)
            except OSError as error:
                raise SpecError(
                    Problem(f"cannot be written: {error.strerror or error}", str(folder))
                ) from None
    return written


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m santa_sim.report",
        description="Rebuild the report of a finished run from its result tables; export figures.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the report (RUN/report.html)")
    parser.add_argument("--png", type=Path, metavar="DIR", help="write every figure as PNG")
    parser.add_argument("--svg", type=Path, metavar="DIR", help="write every figure as SVG")
    parser.add_argument(
        "--view", default="", metavar="LINK",
        help="show the figures as in a link of the report: what follows #, "
        "such as '?context=8192&accelerator=h200_sxm'",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
