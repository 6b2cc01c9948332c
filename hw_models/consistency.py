"""Checks across the parts of an accelerator, which no single part can make for itself."""

from __future__ import annotations

from collections.abc import Iterator

from hw_models.accelerator import Accelerator
from hw_models.boundary import Boundary, MixedBoundariesError
from hw_models.problems import KeyPath, SpecError

Fault = tuple[KeyPath, str]


def faults(accelerator: Accelerator) -> dict[type[SpecError], list[Fault]]:
    """Return what does not fit together, by the error that it deserves.

    Each account needs an energy from every part; no part may serve an account that does not exist;
    each term's boundary must be one that its account composes.
    """
    boundaries = list(_boundaries(accelerator))
    known = accelerator.accounts
    return {
        SpecError: [
            *_missing(accelerator),
            *_memory_behind(accelerator),
            *_pipeline(accelerator),
            *((path, f"no account '{account}' (has: {', '.join(known)})")
              for path, account, _ in boundaries if account not in known),
        ],
        MixedBoundariesError: [
            (path, f"stands at boundary {boundary}, which account '{account}' does not compose "
                   f"(it has: {', '.join(known[account].composes)})")
            for path, account, boundary in boundaries
            if account in known and boundary not in known[account].composes
        ],
    }


def _boundaries(accelerator: Accelerator) -> Iterator[tuple[KeyPath, str, Boundary]]:
    """Yield where each energy is given, for which account, and at which boundary."""
    for account, memory in accelerator.memory.energy.items():
        yield ("memory", "energy", account), account, memory.boundary
    if accelerator.buffer:
        for account, buffer in accelerator.buffer.energy.items():
            yield ("buffer", "energy", account), account, buffer.boundary
    for account, static in accelerator.static.items():
        yield ("static", account), account, static.boundary
    for account, op in accelerator.arithmetic.energy.items():
        yield ("arithmetic", "energy", account), account, op.boundary
    for name, unit in accelerator.arithmetic.units.items():
        for account, op in unit.energy.items():
            yield ("arithmetic", "units", name, "energy", account), account, op.boundary


def _pipeline(accelerator: Accelerator) -> Iterator[Fault]:
    """A stage owns its units, and its data pass through a buffer from a memory in time."""
    if accelerator.pipeline is None:
        return
    if accelerator.memory.dram is None:
        yield ("memory",), "names no dram, which the pipeline needs behind its engines"
    if accelerator.buffer is None:
        yield ("pipeline",), "the accelerator has no buffer that could hold the pipeline's buffers"
    for name, unit in accelerator.arithmetic.units.items():
        if unit.phases is None or len(unit.phases) != 1:
            given = "all" if unit.phases is None else ", ".join(unit.phases)
            yield (("arithmetic", "units", name, "phases"),
                   f"a stage of a pipeline owns its units, so a unit serves one phase; got {given}")


def _memory_behind(accelerator: Accelerator) -> Iterator[Fault]:
    """The memory in time is the memory of the closed forms."""
    memory = accelerator.memory
    if memory.dram is None:
        return
    from hw_models.dram.memory_spec import load_dram  # loads Numba

    where = ("memory", "dram", "preset")
    try:
        spec = load_dram(memory.dram.preset)
    except SpecError as error:
        yield where, str(error)
        return
    peak, here = spec.peak_bytes_per_s * memory.dram.copies, memory.peak_bandwidth.value
    if not 0.97 <= peak / here <= 1.03:
        yield where, f"moves {peak:.4g} B/s at its peak, but peak_bandwidth is {here:.4g}"
    for name, size in (("granularity_bytes", spec.organisation.burst_bytes),
                       ("row_bytes", spec.organisation.row_bytes)):
        if size != getattr(memory, name):
            yield where, f"has {name} {size}, but the memory says {getattr(memory, name)}"


def _missing(accelerator: Accelerator) -> Iterator[Fault]:
    for account in accelerator.accounts:
        if account not in accelerator.memory.energy:
            yield ("memory", "energy"), f"account '{account}' is missing"
        if accelerator.buffer and account not in accelerator.buffer.energy:
            yield ("buffer", "energy"), f"account '{account}' is missing"
        for name, unit in accelerator.arithmetic.units.items():
            where = ("arithmetic", "units", name)
            cost = accelerator.arithmetic.energy_of(name, account)
            if cost is None:
                yield where, f"nothing gives this unit's energy in account '{account}'"
                continue
            for kind, dtypes in unit.executes.items():
                for dtype in dtypes:
                    if dtype not in cost.table.ops.get(kind, {}):
                        yield where, f"account '{account}' has no energy for {kind} ({dtype})"
