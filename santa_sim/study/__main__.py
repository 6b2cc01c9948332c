"""`python -m santa_sim.study FILE`: run a study and write its tables and its report."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path

from hw_models.problems import SpecError
from santa_sim.study.dispatch import WorkersLostError
from santa_sim.study.engines import engine_of, usable_cores
from santa_sim.study.estimate import estimate
from santa_sim.study.load import overridden, study_of
from santa_sim.study.memory_run import memory_command
from santa_sim.study.memory_spec import is_memory_study, memory_study_of
from santa_sim.study.output import REPORT, is_finished, known_points
from santa_sim.study.plan import plan
from santa_sim.study.process import Stopped, leave, lenient_stdout, raising_on_signals
from santa_sim.study.progress import Progress, progress_bar
from santa_sim.study.run import default_engine
from santa_sim.study.run_folder import run_into
from santa_sim.study.schema import file_schema
from santa_sim.study.summary import print_plan, print_summary

OK, FAILED, BAD_INPUT = 0, 1, 2
MAX_LINES = 20
"""Faults that are printed; a wrong file in a right place has dozens."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, 1 if a point failed, or 2 if the input is wrong.

    Returns 128 and the signal's number after an interrupt; what is finished is kept.
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
        say(*shown)
        return BAD_INPUT
    except WorkersLostError as error:
        say(f"stopped: {error}; {_kept(options)}")
        return FAILED
    except Stopped as stop:
        say(f"interrupted; {_kept(options)}")
        return 128 + stop.signal


def say(*lines: str) -> None:
    """Print lines to stderr."""
    for line in lines:
        print(line, file=sys.stderr)  # noqa: T201


def _kept(options: argparse.Namespace) -> str:
    kept = getattr(options, "kept", 0)
    if not kept:
        return "nothing was written"
    points = "1 finished point is" if kept == 1 else f"{kept} finished points are"
    return f"{points} kept, and the same command goes on with the rest"


def _run(options: argparse.Namespace, command: str) -> int:
    document = overridden(options.file, options.set)  # once, for it may be a pipe
    if is_memory_study(document):
        memories = memory_study_of(document, options.file, options.set)
        with lenient_stdout():
            return memory_command(memories, options, command, datetime.now(UTC))
    planned = plan(study_of(document, options.file, options.set))
    target = options.out or Path("runs") / planned.loaded.study.name
    engine = options.engine or default_engine(planned)
    engine_of(engine, options.jobs)  # a wrong name is known before the work
    if options.dry_run:
        forecast = estimate(
            planned, () if options.force else known_points(target), options.jobs,
            processes=engine not in ("threads", "serial"),
        )
        with lenient_stdout():
            print_plan(planned, forecast, target)
        return OK
    if not options.force and is_finished(target, planned.identity):
        with lenient_stdout():
            print(f"{target} holds this study, finished; nothing to do (--force: again)")  # noqa: T201
        return OK
    with _progress(options.quiet) as progress:
        done = run_into(
            planned, target, command=command, engine=engine, jobs=options.jobs,
            resume=options.resume, force=options.force, progress=progress, say=say,
            kept=lambda points: setattr(options, "kept", points),
        )
    failed = done.result.failed
    say(*failed)
    if failed:
        points = done.result.tables.points
        bad = int((points["status"] != "ok").sum())
        say(f"{bad} of {len(points)} result rows failed; the same command tries them again")
    with lenient_stdout():
        if done.report is not None:
            print_summary(done.report)
        print(target if done.report is None else target / REPORT)  # noqa: T201
    return FAILED if failed else OK


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
        "--engine", metavar="NAME",
        help="threads (default for small studies), processes (for large ones), serial, dask, or "
        "dask=tcp://HOST:PORT for a cluster; results do not depend on it",
    )
    parser.add_argument(
        "--jobs", type=_jobs, default=usable_cores(), metavar="N",
        help="workers (default: one per usable core); results do not depend on it",
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument(
        "--resume", action="store_true",
        help="only go on: it is an error if the folder holds no point of this study (points that "
        "are there are never computed again, with or without this)",
    )
    again.add_argument("--force", action="store_true", help="compute every point again")
    parser.add_argument(
        "--dry-run", action="store_true",
        help="check the study and say its size, time, memory and disk",
    )
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
        sys.stdout.write(json.dumps(file_schema(), indent=2, ensure_ascii=False) + "\n")
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


def _progress(quiet: bool) -> AbstractContextManager[Progress | None]:
    return nullcontext() if quiet else progress_bar()


if __name__ == "__main__":
    leave(main())
