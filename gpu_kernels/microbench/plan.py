"""All points of a run, by name, and how long they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpu_kernels.board.steady import SETTLE_S, WINDOW_S
from gpu_kernels.microbench import compute_probes, energy_probes, memory_probes
from gpu_kernels.microbench.setting import Probe

Points = Callable[[int], Iterator[Probe]]

PARTS: dict[str, Points] = {
    "launch": compute_probes.launch_points,
    "latency": lambda _: memory_probes.latency_points(),
    "stream": memory_probes.stream_points,
    "l2": memory_probes.l2_points,
    "gather": memory_probes.gather_points,
    "arithmetic": compute_probes.arithmetic_points,
    "tile": compute_probes.tile_points,
    "merge": lambda _: compute_probes.merge_points(),
    "waves": compute_probes.wave_points,
    "energy": energy_probes.energy_points,
}
"""Name for `--only` -> points, given the number of multiprocessors."""

REPEATS = 25
SECONDS_PER_POINT = 0.06
SECONDS_PER_COMPILATION = 1.2
SECONDS_TO_START = 10.0


def points(names: Iterable[str], multiprocessors: int) -> list[Probe]:
    """Return the points of the named parts, each point once."""
    found: dict[tuple[str, ...], Probe] = {}
    for name in names:
        for probe in PARTS[name](multiprocessors):
            found.setdefault(tuple(probe.setting.as_text().values()), probe)
    return list(found.values())


def expected_seconds(probes: Iterable[Probe]) -> float:
    """Return about how long the points take on a datacentre GPU, compilation included."""
    seconds, programs = SECONDS_TO_START, set()
    for probe in probes:
        s = probe.setting
        programs.add((s.kernel, s.op, s.num_warps, s.stages, s.tile_bytes, s.row_bytes, s.block_n,
                      s.columns, s.dependent, s.splits))
        seconds += SETTLE_S + WINDOW_S + 0.3 if probe.energy else SECONDS_PER_POINT
    return seconds + SECONDS_PER_COMPILATION * len(programs)
