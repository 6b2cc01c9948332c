"""Which bytes move: K, V, queries and outputs, workspace."""

from __future__ import annotations

from santa_sim.report.printed import compared, percent, si
from santa_sim.report.section import Figure, Said, Section
from santa_sim.report.selection import anchors, roles
from santa_sim.report.view import View


def byte_streams(view: View) -> Section:
    """Return the section on bytes."""
    return Section(
        name="bytes",
        title="Where bytes go",
        question="Which bytes move, and which of them does sampling save?",
        answer=_answer(view),
        figures=(Figure("bytes"),),
        how_to_read="All sequences and heads together; shorter is better. Logical: each row as "
        "often as it is drawn. Unique: each row once per KV head. Moved: unique, in whole 32-byte "
        "sectors. Workspace stays on the chip where it fits; sentences count main memory.",
    )


def _answer(view: View) -> tuple[Said, ...]:
    case = anchors(view)[0]
    rows = view.rows(case)
    chosen = roles(view, case)
    dense = rows[chosen.dense] if chosen.dense else None
    said = []
    if dense:
        moved = dense["moved_bytes"]
        said.append(
            f"Dense attention moves {si(moved, 'B')} of main memory per decode step and layer, of "
            f"which K is {percent(dense['k_bytes'] / moved)} and V "
            f"{percent(dense['v_bytes'] / moved)}."
        )
    for method in (chosen.sampled, chosen.joint):
        if method is None:
            continue
        row = rows[method]
        moved = row["moved_bytes"]
        against = f", {compared(moved / dense['moved_bytes'], 'dense')}" if dense else ""
        said.append(
            f"{method} reads {percent(row['unique_row_fraction'])} of the V rows and moves "
            f"{si(moved, 'B')}{against}; {percent(row['k_bytes'] / moved)} of it is K."
        )
    return (Said(case.label, tuple(said)),)
