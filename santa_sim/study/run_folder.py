"""Runs a study into a folder: goes on from what is there, and writes what a run writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hw_models.problems import Problem, SpecError
from santa_sim.report.build import write_report
from santa_sim.report.tables import ReportTables
from santa_sim.study.engines import usable_cores
from santa_sim.study.load import load_study
from santa_sim.study.output import REPORT, OutputFolder, study_text, write_record, write_tables
from santa_sim.study.plan import Plan, plan
from santa_sim.study.progress import Progress
from santa_sim.study.provenance import provenance
from santa_sim.study.run import StudyResult, default_engine, run_plan


def run_study(
    path: str | Path, overrides: Sequence[str] = (), *, engine: str | None = None,
    jobs: int | None = None, out: str | Path | None = None, resume: bool = False,
    force: bool = False, progress: Progress | None = None,
) -> StudyResult:
    """Run a study file and return its tables.

    overrides: texts such as `seeds.count=4` that change the study. engine: `threads`, `processes`,
    `serial`, `dask` or `dask=tcp://host:port`, by default `default_engine`; jobs: its workers, by
    default one per usable core; results depend on neither. out: a folder, which then gets the files
    that the command line writes, and whose finished points are not computed again; without it
    nothing is written. resume, force: as the options of the command line. progress: called when the
    work begins and after each point.

    A script that lets this start processes needs `if __name__ == "__main__":`, since each of them
    imports it. Raises `SpecError` (a `ValueError`) for a fault in the study, in what it names or in
    the folder, and `WorkersLostError` if worker processes keep dying.
    """
    planned = plan(load_study(path, overrides))
    if out is None:
        return run_plan(planned, engine=engine, jobs=jobs, progress=progress)
    command = f"run_study({str(path)!r}, {list(overrides)!r}, out={str(out)!r})"
    done = run_into(
        planned, Path(out), command=command, engine=engine, jobs=jobs, resume=resume, force=force,
        progress=progress,
    )
    return done.result


@dataclass(frozen=True)
class FolderRun:
    """What a run left in a folder.

    result: its tables. report: what the report was made of; None where no point could be computed.
    written: False if the folder held this study, finished.
    """

    result: StudyResult
    report: ReportTables | None
    written: bool


def run_into(
    planned: Plan, target: Path, *, command: str, engine: str | None = None,
    jobs: int | None = None, resume: bool = False, force: bool = False,
    progress: Progress | None = None, say: Callable[[str], None] = lambda line: None,
    kept: Callable[[int], None] = lambda points: None,
) -> FolderRun:
    """Run a plan into a folder (see `run_study`).

    command: for the record. say: is told, one line each, what was found in the folder; kept: how
    many points are in the log when the work ends, however it ends.
    """
    started = datetime.now(UTC)
    engine, jobs = engine or default_engine(planned), jobs or usable_cores()
    with OutputFolder(target) as output:
        if output.recovered:
            say(f"{output.recovered} left this folder locked and is gone; going on from its points")
        finished = output.finished(planned.identity) and not force
        if not finished:
            _prepare_log(output, planned, resume=resume, force=force, say=say)
        try:
            result = run_plan(
                planned, engine=engine, jobs=jobs, log=output.log, progress=progress
            )
        finally:
            kept(sum(p.key in output.log for p in planned.points))
        resolved = study_text(result.study)
        record = provenance(
            planned.loaded, command=command, started=started, engine=engine, jobs=jobs
        )
        record["notes"] = [*result.failed, *result.notes]
        computed = bool((result.tables.points["status"] == "ok").any())
        report = result.report_tables(record, resolved) if computed else None
        if not finished:
            write_tables(result, output.staging)
            write_record(record, resolved, output.staging)
            _publish(output, report, None if result.failed else planned.identity)
    return FolderRun(result, report, not finished)


def _publish(output: OutputFolder, report: ReportTables | None, identity: str | None) -> None:
    try:
        if report is not None:
            write_report(report, output.staging / REPORT)
    except Exception as error:
        (output.staging / REPORT).unlink(missing_ok=True)
        if not isinstance(error, OSError):  # a fault in the report must not cost the results
            output.publish(None)
        raise
    output.publish(identity)


def _prepare_log(
    output: OutputFolder, planned: Plan, *, resume: bool, force: bool, say: Callable[[str], None]
) -> None:
    keys = {p.key for p in planned.points}
    if force:
        output.log.keep_only(())
    there = sum(key in output.log for key in keys)
    if resume and not there:
        raise SpecError(Problem(
            "--resume: no point of this study is there to go on from", str(output.path)
        ))
    for sentence in output.log.damage:
        say(sentence)
    if there:
        say(f"{there} of {len(keys)} points are there, {len(keys) - there} to do")
    output.log.keep_only(keys)
