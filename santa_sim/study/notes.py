"""What a reader must know before trusting a number of a study, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from hw_models.catalogue import constants_used
from santa_sim.study.load import LoadedStudy
from santa_sim.study.spec import Seeds


def notes(loaded: LoadedStudy, lowering: Sequence[str]) -> tuple[str, ...]:
    """Return the caveats of a study; lowering: what accelerators had to decide for the methods."""
    study = loaded.study
    found = [
        "All figures are for one decode step in one layer; multiply by layers and steps as needed.",
        "Times are roofline bounds without launches, latencies or waves.",
    ]
    if study.level == "event":
        found.append(
            "Times of the event level are of one run each: the rows of seed "
            f"{study.seeds.first} on the last step of a dataset. Addresses are not hashed over "
            "channels, and a stage takes tiles in order, head by head."
        )
    if study.level != "expected":
        found.append(
            "Errors are ‖out − exact‖/‖exact‖ per head, averaged over heads and over "
            f"{_seeds(study.seeds)}; intervals are 95 % confidence."
        )
    else:
        found.append("Counts are closed-form expectations, so there is no output and no error.")
    found.extend(dict.fromkeys(d.caveat for d in loaded.datasets if d.caveat))
    if loaded.wide:
        found.append(
            f"The study has {loaded.rows:,} results; details and this report are of the unchanged "
            "machines, results.parquet holds all."
        )
    for accelerator in loaded.accelerators:
        constants = constants_used(accelerator)
        weak = sum(row.unverified for row in constants)
        if weak:
            found.append(
                f"{accelerator.title}: {weak} of {len(constants)} constants are judgement or "
                "unverified; they are marked in the table of sources."
            )
    return (*found, *lowering)


def _seeds(seeds: Seeds) -> str:
    if seeds.precision is None:
        return f"{seeds.count} seeds from {seeds.first}"
    return (
        f"{seeds.count} to {seeds.cap} seeds from {seeds.first}, until half the interval is "
        f"{100 * seeds.precision:g} % of the error"
    )


def unprecise(points: int, seeds: Seeds) -> tuple[str, ...]:
    """Return what to say of points whose error is known less well than asked for."""
    if not points:
        return ()
    return (
        f"{points} points reached the cap of {seeds.cap} seeds before half their interval was "
        f"{100 * (seeds.precision or 0):g} % of the error.",
    )
