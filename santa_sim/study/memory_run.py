"""Runs a study of memories: energy per bit and bandwidth against bytes used per activation."""

from __future__ import annotations

import argparse
import hashlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hw_models.dram import DramSpec, Page, Policy, make_requests, simulate
from hw_models.dram.simulation import DramReport
from santa_sim.report.memory_page import MEMORY_COLUMNS, memory_page, memory_sentences
from santa_sim.study.memory_spec import LoadedMemoryStudy, MemoryStudy
from santa_sim.study.output import REPORT, RESULTS, OutputFolder, write_record, yaml_text
from santa_sim.study.provenance import run_record

if TYPE_CHECKING:
    import pandas as pd

PICO = 1e-12


def run_memory_study(loaded: LoadedMemoryStudy) -> pd.DataFrame:
    """Return one row per memory and size (`MEMORY_COLUMNS`); a size that no row can hold says so.

    pJ/bit: activations, reads and I/O over the bits that were read, with the range of the
    constants; `all_pj_per_bit` with standby and refresh over the time of the run too.
    `closed_form_pj_per_bit`: e_act/(8·b) + e_read + e_io for b bytes per activation.
    """
    import pandas as pd

    rows = [
        _row(name, memory, size, loaded.study)
        for name, memory in loaded.memories.items()
        for size in loaded.study.bytes_per_activation
    ]
    return pd.DataFrame({
        column: pd.Series([row.get(column) for row in rows], dtype=kind)
        for column, kind in MEMORY_COLUMNS.items()
    })


def scattered_pieces(memory: DramSpec, size: int, pieces: int, seed: int) -> Any:
    """Return requests for `pieces` aligned pieces of `size` bytes, in random rows."""
    shape = memory.organisation
    bursts = size // shape.burst_bytes
    rng = np.random.default_rng(seed)
    places = {
        "channel": shape.channels, "rank": shape.ranks, "bank_group": shape.bank_groups,
        "bank": shape.banks_per_group, "row": shape.rows, "column": shape.columns // bursts,
    }
    fields = {name: rng.integers(0, count, pieces) for name, count in places.items()}
    fields["column"] *= bursts
    spread = {name: np.repeat(value, bursts) for name, value in fields.items()}
    spread["column"] += np.tile(np.arange(bursts), pieces)
    return make_requests(memory.mapping.addresses(**spread))


def _row(name: str, memory: DramSpec, size: int, study: MemoryStudy) -> dict[str, Any]:
    shape = memory.organisation
    row: dict[str, Any] = {"memory": name, "title": memory.name, "bytes_per_activation": size}
    if size % shape.burst_bytes or shape.row_bytes % size:
        return row | {"status": "does not fit", "error": (
            f"{size} bytes are no aligned part of a row of {shape.row_bytes} bytes in bursts of "
            f"{shape.burst_bytes}"
        )}
    pieces = study.pieces_per_channel * shape.channels
    requests = scattered_pieces(memory, size, pieces, study.seed)
    report = simulate(memory, requests, policy=Policy(page=Page(study.page)), queue=study.queue)
    return row | {"status": "ok", "error": "", "pieces": pieces} | _figures(memory, size, report)


def _figures(memory: DramSpec, size: int, report: DramReport) -> dict[str, Any]:
    total, cost, joules = report.channels.total, memory.energy, report.energy
    bits = 8 * int(total.read_bytes[0])
    used = (joules.activate_j + joules.read_j + joules.io_j) * (1 / bits / PICO)
    every = joules.total_j * (1 / bits / PICO)
    reached = report.bandwidth_bytes_per_s
    return {
        "activations": int(total.activations[0]), "pj_per_bit": used.nominal,
        "low_pj_per_bit": used.low, "high_pj_per_bit": used.high,
        "closed_form_pj_per_bit": cost.activation.value / (8 * size) + cost.read.value
        + cost.io.value,
        "all_pj_per_bit": every.nominal, "bytes_per_s": reached,
        "share_of_peak": reached / memory.peak_bytes_per_s,
    }


def memory_command(
    loaded: LoadedMemoryStudy, options: argparse.Namespace, command: str, started: datetime
) -> int:
    """Run a study of memories from the command line and write its folder; returns the status."""
    study = loaded.study
    target = options.out or Path("runs") / study.name
    if options.dry_run:
        rows = len(loaded.memories) * len(study.bytes_per_activation)
        print(f"{study.title}\n{len(loaded.memories)} memories: {', '.join(loaded.memories)}\n"  # noqa: T201
              f"{rows} result rows -> {target}")
        return 0
    with OutputFolder(target) as output:
        frame = run_memory_study(loaded)
        frame.to_parquet(
            output.staging / RESULTS[0], engine="pyarrow", index=False, compression="zstd"
        )
        frame.to_csv(output.staging / RESULTS[1], index=False, lineterminator="\n")
        record = {
            "study": {"file": str(loaded.file), "overrides": list(loaded.overrides),
                      "text": loaded.text},
            "inputs": {name: hashlib.sha256(memory.model_dump_json().encode()).hexdigest()
                       for name, memory in loaded.memories.items()},
            **run_record(command=command, started=started, engine="serial", jobs=1),
        }
        write_record(record, yaml_text(study.model_dump(mode="json")), output.staging)
        (output.staging / REPORT).write_text(
            memory_page(study.title, study.question, frame, loaded.memories), encoding="utf-8"
        )
        output.publish(None)
    for sentence in memory_sentences(frame[frame["status"] == "ok"]):
        print(sentence)  # noqa: T201
    print(target / REPORT)  # noqa: T201
    return 0
