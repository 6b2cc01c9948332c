"""`python -m santa_sim.study FILE`: run a study and write its tables and its report."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hw_models.problems import SpecError
from santa_sim.report.build import write_report
from santa_sim.study.load import LoadedStudy, load_study
from santa_sim.study.output import REPORT, OutputFolder, study_text, write_record, write_tables
from santa_sim.study.process import Stopped, leave, lenient_stdout, raising_on_signals
from santa_sim.study.provenance import provenance
from santa_sim.study.run import Progress, run_loaded, usable_cores
from santa_sim.study.spec import study_schema
from santa_sim.study.summary import print_plan, print_summary

OK, FAILED, BAD_INPUT = 0, 1, 2
MAX_LINES = 20
"""Faults that are printed; a wrong file in a right place has dozens."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, 1 if a point failed, or 2 if the input is wrong.

    Returns 128 and the signal's number after an interrupt, with nothing written.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    try:
        with raising_on_signals():
            return _run(options, shlex.join(["python", "-m", "santa_sim.study", *given]))
    except SpecError as error:
        lines = str(error).splitlines()
        more = len(lines) - MAX_LINES
        shown = [*lines[:MAX_LINES], *([f"... and {more} more"] if more > 0 else [])]
        print(*shown, sep="\n", file=sys.stderr)  # noqa: T201
        return BAD_INPUT
    except Stopped as stop:
        print("interrupted; nothing was written", file=sys.stderr)  # noqa: T201
        return 128 + stop.signal


def _run(options: argparse.Namespace, command: str) -> int:
    started = datetime.now(UTC)
    loaded = load_study(options.file, options.set)
    target = options.out or Path("runs") / loaded.study.name
    if options.dry_run:
        with lenient_stdout():
            print_plan(loaded, target)
        return OK
    with OutputFolder(target) as output:
        with _progress(loaded, options.quiet) as progress:
            result = run_loaded(loaded, jobs=options.jobs, progress=progress)
        resolved = study_text(result.study)
        record = provenance(loaded, command=command, started=started, jobs=options.jobs)
        write_tables(result, output.staging)
        write_record(record, resolved, output.staging)
        computed = bool((result.frame["status"] == "ok").any())
        try:
            if computed:
                tables = result.report_tables(record, resolved)
                write_report(tables, output.staging / REPORT)
        except Exception as error:
            (output.staging / REPORT).unlink(missing_ok=True)
            if not isinstance(error, OSError):  # a fault in the report must not cost the results
                output.publish()
            raise
        output.publish()
    for sentence in result.failed:
        print(sentence, file=sys.stderr)  # noqa: T201
    with lenient_stdout():
        if computed:
            print_summary(tables)
        print(target / REPORT if computed else target)  # noqa: T201
    return FAILED if result.failed else OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m santa_sim.study",
        description="Run a study: real or synthetic attention, methods, accelerators; "
        "tables and a report.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the study, a YAML file")
    parser.add_argument("--out", type=_folder, metavar="DIR", help="output folder (runs/<name>)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="a.b=c",
        help="change one value of the study, such as seeds.count=4 or data[0].context=8192",
    )
    parser.add_argument(
        "--jobs", type=_jobs, default=usable_cores(), metavar="N",
        help="threads (default: one per usable core); results do not depend on it",
    )
    parser.add_argument("--dry-run", action="store_true", help="check the study and say its size")
    parser.add_argument(
        "--schema", action=_PrintSchema, help="print the JSON schema of a study file and stop"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return parser


class _PrintSchema(argparse.Action):
    """Prints and stops like `--help`, so that FILE need not be given."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object,
        option_string: str | None = None,
    ) -> None:
        """Print the schema and end the program."""
        sys.stdout.write(json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n")
        parser.exit()


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must name a folder; '.' is this one")
    return Path(text)


def _jobs(text: str) -> int:
    count = int(text) if text.isdecimal() and len(text) < 5 else 0
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError(f"must be a whole number in 1..1024, got '{text}'")
    return count


@contextmanager
def _progress(loaded: LoadedStudy, quiet: bool) -> Iterator[Progress | None]:
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=Console(stderr=True)) as bar:
        total = len(loaded.datasets) * len(loaded.study.methods)
        task = bar.add_task("preparing", total=total)
        yield lambda done, _total, name: bar.update(task, completed=done, description=name)


if __name__ == "__main__":
    leave(main())
