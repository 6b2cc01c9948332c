"""Energy of lowered work: a list of parts, each with its range and its boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from hw_models.accelerator import Accelerator, BufferEnergy, MemoryEnergy
from hw_models.boundary import Boundary, MixedBoundariesError
from hw_models.ledger import Direction, Level, OpKind, Pattern, Phase
from hw_models.lowering import Lowered
from hw_models.problems import Problem, SpecError, did_you_mean
from hw_models.quantity import Interval

Cost = TypeVar("Cost", MemoryEnergy, BufferEnergy)

BITS = 8
PICO = 1e-12
ZERO = Interval.exact(0.0)

_OP_PARTS = {
    OpKind.MULTIPLY: "multiply",
    OpKind.ADD: "add",
    OpKind.EXP: "exp",
    OpKind.RANDOM_BITS: "random bits",
}
OTHER_ARITHMETIC = "other arithmetic"


@dataclass(frozen=True)
class EnergyPart:
    """One term of a sum: what it is for, where it was metered, and in which phase (None: all).

    constant: dotted path in the accelerator of the constant that the term is proportional to.
    """

    name: str
    boundary: Boundary
    phase: Phase | None
    constant: str
    energy_j: Interval


PartKey = tuple[str, Boundary, Phase | None, str]
"""What tells the terms of an account apart: name, boundary, phase and constant."""


@dataclass(frozen=True)
class EnergyReport:
    """Energy of one lowered ledger in one account.

    parts: the terms, in the order memory, buffer, arithmetic, static. total_j: their sum in joules.
    average_power_w: total over time at nominal constants; 0 where no time passes.
    """

    account: str
    parts: tuple[EnergyPart, ...]
    total_j: Interval
    average_power_w: float

    def by_name(self) -> dict[str, Interval]:
        """Return part name -> joules, phases summed."""
        sums: dict[str, Interval] = {}
        for part in self.parts:
            sums[part.name] = sums.get(part.name, ZERO) + part.energy_j
        return sums


def energy(
    lowered: Lowered, accelerator: Accelerator, account: str, time_s: Interval
) -> EnergyReport:
    """Return what lowered work costs in one account.

    Memory: moved bytes × 8 × pJ/bit, plus row activations of gathered segments. Buffer: scratch
    bytes, and staged reads, × 8 × pJ/bit. Arithmetic: count × pJ/op. Static: power × `time_s`
    (seconds). Joules, with the range that the constants imply.
    Raises `SpecError` for an unknown account and `MixedBoundariesError` for a term whose boundary
    the account does not compose.
    """
    if account not in accelerator.accounts:
        raise SpecError(Problem(
            f"{accelerator.name} has no account '{account}'"
            + did_you_mean(account, accelerator.accounts)
        ))
    parts, total = summed(lowered, accelerator, account, time_s)
    return EnergyReport(
        account=account,
        parts=tuple(EnergyPart(*key, joules) for key, joules in parts.items()),
        total_j=total,
        average_power_w=total.nominal / time_s.nominal if time_s.nominal else 0.0,
    )


def summed(
    lowered: Lowered, accelerator: Accelerator, account: str, time_s: Interval
) -> tuple[dict[PartKey, Interval], Interval]:
    """Return the terms of an account and their sum; joules.

    Raises `MixedBoundariesError` like `energy`.
    """
    composed = accelerator.accounts[account].composes
    parts: dict[PartKey, Interval] = {}
    for part in _terms(lowered, accelerator, account, time_s):
        if part.boundary not in composed:
            raise MixedBoundariesError(Problem(
                f"{accelerator.name}: '{part.name}' stands at boundary {part.boundary}, which "
                f"account '{account}' does not compose (it has: {', '.join(composed)})"
            ))
        key = part.name, part.boundary, part.phase, part.constant
        parts[key] = parts.get(key, ZERO) + part.energy_j
    return parts, sum(parts.values(), ZERO)


def activation_extra(segment_bytes: int, row_bytes: int) -> float:
    """Return the row activations that a gathered segment pays beyond the streaming figure.

    ⌈b/R⌉ − b/R for b = `segment_bytes` and R = `row_bytes`: a lone segment opens whole rows, and
    the streaming pJ/bit already holds the share b/R. Source: fixed cost per activation as in
    O'Connor et al., MICRO 2017.
    """
    return -(-segment_bytes // row_bytes) - segment_bytes / row_bytes


def _terms(
    lowered: Lowered, accelerator: Accelerator, account: str, time_s: Interval
) -> Iterator[EnergyPart]:
    yield from _memory(lowered, accelerator, account)
    yield from _buffer(lowered, accelerator, account)
    yield from _arithmetic(lowered, accelerator, account)
    if account in accelerator.static:
        static = accelerator.static[account]
        yield EnergyPart(
            "static", static.boundary, None, f"static.{account}.power",
            time_s.times(static.power.interval),
        )


def _memory(lowered: Lowered, accelerator: Accelerator, account: str) -> Iterator[EnergyPart]:
    ledger, memory = lowered.ledger, accelerator.memory
    cost = _charged(memory.energy, account, f"memory of {accelerator.name}")
    for key, segments in ledger.streams.items():
        if key.level is not Level.MAIN:
            continue
        reading = key.direction is Direction.READ
        per_bit = cost.read if reading else cost.write
        moved = ledger.stream_bytes(key, "moved")
        yield EnergyPart(
            "main memory read" if reading else "main memory write", cost.boundary, key.phase,
            f"memory.energy.{account}.{'read' if reading else 'write'}",
            per_bit.interval * (moved * BITS * PICO),
        )
        if key.pattern is Pattern.GATHER and cost.activation and memory.row_bytes:
            granule = ledger.granularity_bytes
            segment = -(-key.segment_bytes // granule) * granule
            activations = segments.unique * activation_extra(segment, memory.row_bytes)
            yield EnergyPart("row activation", cost.boundary, key.phase,
                             f"memory.energy.{account}.activation",
                             cost.activation.interval * (activations * PICO))


def _buffer(lowered: Lowered, accelerator: Accelerator, account: str) -> Iterator[EnergyPart]:
    buffer, ledger = accelerator.buffer, lowered.ledger
    if buffer is None:
        return
    cost = _charged(buffer.energy, account, f"buffer of {accelerator.name}")
    for key in ledger.streams:
        bits = ledger.stream_bytes(key, "moved") * BITS * PICO
        reading = key.direction is Direction.READ
        if key.level is Level.SCRATCH:
            way, per_bit = ("read", cost.read) if reading else ("write", cost.write)
            yield EnergyPart("buffer", cost.boundary, key.phase,
                             f"buffer.energy.{account}.{way}", per_bit.interval * bits)
        elif reading and buffer.stages_main_reads:
            for way, per_bit in (("write", cost.write), ("read", cost.read)):
                yield EnergyPart("staging", cost.boundary, key.phase,
                                 f"buffer.energy.{account}.{way}", per_bit.interval * bits)


def _arithmetic(
    lowered: Lowered, accelerator: Accelerator, account: str
) -> Iterator[EnergyPart]:
    for work in lowered.work:
        cost = accelerator.arithmetic.energy_of(work.unit, account)
        if cost is None:
            raise _uncharged(account, f"unit '{work.unit}' of {accelerator.name}")
        name = _OP_PARTS.get(work.op.kind, OTHER_ARITHMETIC)
        per_op = cost.per_op_pj(work.op.kind, work.op.dtype)
        entry = (
            f"arithmetic.units.{work.unit}.energy.{account}.ops.{work.op.kind}.{work.op.dtype}"
        )
        yield EnergyPart(name, cost.boundary, work.op.phase, entry, per_op * (work.count * PICO))


def _charged(energies: Mapping[str, Cost], account: str, what: str) -> Cost:
    if account not in energies:
        raise _uncharged(account, what)
    return energies[account]


def _uncharged(account: str, what: str) -> SpecError:
    return SpecError(Problem(f"{what} has no energy for account '{account}'"))
