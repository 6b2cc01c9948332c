"""From the passes of a call to the launches that the time model prices."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_kernels.compiled_counts.table import compiled
from gpu_kernels.launches.call import DecodeCall, Pass
from gpu_kernels.launches.describe import passes
from gpu_kernels.launches.resident import resident_programs
from gpu_kernels.split_plan import DeviceLimits
from hw_models.gpu.launch import KernelLaunch

WARP = 32
HALVED = frozenset({(8, 0), (9, 0)})
"""Compute capabilities with an L2 of two halves (NVIDIA's whitepapers on A100 and H100)."""
PRODUCT_FLOPS = 2 * 16 * 8 * 16
"""Of one product of matrices as counted: 16 × 8 × 16 numbers."""


def call_launches(
    call: DecodeCall, limits: DeviceLimits, l2_bytes: float, *, warm: bool = False
) -> list[KernelLaunch]:
    """Return the launches of a call on a GPU of these limits.

    l2_bytes: size of its L2. warm: the same call has run just before.
    Raises `NotCompiled` for a kernel whose registers and instructions nobody counted.
    """
    return priced(passes(call, limits), limits.capability, l2_bytes, warm=warm)


def priced(
    described: Sequence[Pass], capability: tuple[int, int], l2_bytes: float, *, warm: bool
) -> list[KernelLaunch]:
    """Return a launch per pass: what L2 holds is told apart from what memory must deliver.

    What a pass wrote is still in L2 for the next one as far as the traffic since then leaves it
    there; the rest comes from memory. In a warm L2 the call's own reads hit as `warm_share` says.
    """
    found, before = [], 0.0
    hits = (warm_share(sum(_own(one) for one in described), l2_bytes,
                       halves=capability in HALVED) if warm else 0.0)
    for one in described:
        work, built = one.work, compiled(one.variant, capability)
        kept = min(1.0, l2_bytes / before) if before else 1.0
        once = built.steps.once.plus(built.steps.branch, max(0.0, work.branches))
        steps = once.plus(built.steps.turn, work.iterations)
        found.append(KernelLaunch(
            programs=one.programs, num_warps=one.num_warps,
            resident=resident_programs(built.registers, built.shared_bytes, one.num_warps,
                                       capability),
            stream_bytes=(1 - hits) * work.read_bytes + (1 - kept) * work.handed_bytes,
            gather_bytes=(1 - hits) * work.gather_bytes,
            gather_lines=(1 - hits) * work.gather_lines,
            gather_rows=(1 - hits) * work.gather_rows,
            l2_bytes=(hits * (work.read_bytes + work.gather_bytes)
                      + kept * work.handed_bytes + work.repeated_bytes),
            written_bytes=work.written_bytes, tile_bytes=max(1.0, work.tile_bytes),
            tiles_in_flight=work.tiles_in_flight, issue_slots=one.num_warps * steps.instructions,
            once=once, turn=built.steps.turn, turns=work.iterations,
            # padding is zeros, which switch next to nothing
            tensor_flops=(one.programs * one.num_warps * steps.tensor * PRODUCT_FLOPS
                          * one.filled),
            exponentials=one.programs * one.num_warps * steps.special * WARP,
            dependent_reads=work.rounds, start=one.start,
        ))
        before = _own(one) + work.written_bytes
    return found


def _own(one: Pass) -> float:
    return one.work.read_bytes + one.work.gather_bytes


def warm_share(footprint: float, l2_bytes: float, *, halves: bool = True) -> float:
    """Return the share of a repeated read of `footprint` bytes that L2 serves.

    Each half of a divided L2 keeps what its side of the GPU reads: up to half of its size all
    stays, and of a larger cycle less and less, until nothing is left when it comes round. An
    undivided one keeps all that fits, and of a larger cycle, the oldest leaving first, nothing.
    """
    if not halves:
        return float(footprint <= l2_bytes)
    return min(1.0, max(0.0, (l2_bytes - footprint) / (l2_bytes / 2)))
