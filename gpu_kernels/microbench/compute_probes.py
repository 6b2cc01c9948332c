"""Points of arithmetic and of a tile's steps, with launches, merges and waves of programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gpu_kernels.microbench.memory_probes import MIB, L2State, stream
from gpu_kernels.microbench.setting import Probe, Setting

if TYPE_CHECKING:
    from gpu_kernels.microbench.lab import Lab

HEAD_DIM = 128
OPERATIONS = ("fma", "exp", "max", "scan", "compare", "dot")
STEPS = ("dot", "exp", "scan", "compare")
"""Each includes those before it."""


def arithmetic(
    experiment: str, l2: L2State, op: str, programs: int, iterations: int, *, columns: int = 8,
    num_warps: int = 4, block_n: int = 64, energy: bool = False,
) -> Probe:
    """Return a point that repeats one operation on a [block_n, columns] tile in registers."""

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.microbench.compute_kernels import arithmetic_kernel

        numbers = lab.numbers()
        out = torch.empty(programs, columns, dtype=torch.float32, device=lab.device)

        def call() -> Any:
            return arithmetic_kernel[(programs,)](
                numbers, numbers[block_n * HEAD_DIM:], out, iterations, OP=op, BLOCK_N=block_n,
                COLUMNS=columns, HEAD_DIM=HEAD_DIM, num_warps=num_warps,
            )
        call.out = out  # type: ignore[attr-defined]  # tests look at it
        return call

    return Probe(Setting(
        experiment, "arithmetic", l2, op=op, data="normal", programs=programs,
        num_warps=num_warps, block_n=block_n, columns=columns, iterations=iterations, read_bytes=0,
        loaded_bytes=0, write_bytes=4 * programs * columns), make, energy)


def tile(
    experiment: str, l2: L2State, op: str, footprint: int, programs: int, *, passes: int = 1,
    block_n: int = 64, num_warps: int = 1, stages: int = 2, columns: int = 8, samples: int = 4,
    energy: bool = False,
) -> Probe:
    """Return a point that reads tiles of keys and takes the steps up to `op` with each."""
    rows = footprint // (2 * HEAD_DIM)

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.microbench.compute_kernels import tile_kernel

        numbers = lab.numbers()
        # scores of width 1, as decode's are
        queries = (numbers[: HEAD_DIM * columns] * HEAD_DIM**-0.5).contiguous()
        out = torch.empty(programs, 2, columns, dtype=torch.float32, device=lab.device)

        def call() -> Any:
            return tile_kernel[(programs,)](
                numbers, queries, out, rows, passes, max(1, programs // 3),
                STEP=STEPS.index(op) + 1, BLOCK_N=block_n, COLUMNS=columns, SAMPLES=samples,
                HEAD_DIM=HEAD_DIM, STAGES=stages, num_warps=num_warps,
            )
        call.out, call.queries = out, queries  # type: ignore[attr-defined]  # tests look at them
        return call

    return Probe(Setting(
        experiment, "tile", l2, op=op, data="normal", programs=programs, num_warps=num_warps,
        stages=stages, tile_bytes=2 * HEAD_DIM * block_n, row_bytes=2 * HEAD_DIM,
        row_stride_bytes=2 * HEAD_DIM, passes=passes, block_n=block_n, columns=columns,
        samples=samples, read_bytes=footprint, loaded_bytes=passes * footprint,
        write_bytes=8 * programs * columns), make, energy)


def launch(op: str, programs: int, launches: int, dependent: bool) -> Probe:
    """Return a point of `launches` kernels in a row that do nothing or pass a number on."""

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.microbench.launch_kernel import relay_kernel

        count = torch.zeros(1, dtype=torch.int32, device=lab.device)
        options = {"launch_pdl": True} if dependent else {}

        def call() -> Any:
            handle = None
            for _ in range(launches):
                handle = relay_kernel[(programs,)](count, RELAY=op == "relay", PDL=dependent,
                                                   num_warps=4, **options)
            return handle
        call.out = count  # type: ignore[attr-defined]  # tests look at it
        return call

    return Probe(Setting(
        "launch", "relay", "warm", op=op, programs=programs, num_warps=4, launches=launches,
        dependent=int(dependent)), make)


def merge(l2: L2State, heads: int, splits: int) -> Probe:
    """Return a point that merges the splits' results of `heads` query heads (batch included)."""
    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.merge_plan import DIMS
        from gpu_kernels.partial_results import merge_kernel

        part = torch.randn(heads, splits, HEAD_DIM, device=lab.device)
        peaks = torch.randn(heads, splits, device=lab.device)
        sums = torch.rand(heads, splits, device=lab.device) + 0.5
        out = torch.empty(heads, HEAD_DIM, dtype=torch.bfloat16, device=lab.device)
        block = min(64, 1 << (splits - 1).bit_length())

        def call() -> Any:
            return merge_kernel[(heads, 1, HEAD_DIM // DIMS)](
                part, peaks, sums, None, out, None, splits, 1, HEAD_DIM=HEAD_DIM, BLOCK_S=block,
                PDL=False, num_warps=4,
            )
        call.out, call.parts = out, (part, peaks, sums)  # type: ignore[attr-defined]  # for tests
        return call

    moved = 4 * heads * splits * (HEAD_DIM + 2)
    return Probe(Setting(
        "merge", "merge", l2, programs=heads * 4, num_warps=4, heads=heads, splits=splits,
        read_bytes=moved, loaded_bytes=moved, write_bytes=2 * heads * HEAD_DIM), make)


def spin(experiment: str, l2: L2State, cycles: int, *, energy: bool = False) -> Probe:
    """Return a point in which one thread counts clock cycles: cycles / time is the clock."""

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        return lambda: torch.cuda._sleep(cycles)

    return Probe(Setting(experiment, "spin", l2, programs=1, num_warps=1, iterations=cycles), make,
                 energy)


def launch_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield what the timer reads for no call, then chains of launches, and the clock."""
    yield launch("empty", 1, 0, False)
    for op in ("empty", "relay"):
        for programs in (1, multiprocessors, 8 * multiprocessors):
            for launches in (1, 2, 4, 8):
                for dependent in (False, True):
                    yield launch(op, programs, launches, dependent)
    yield spin("clock", "warm", 2_000_000)


def arithmetic_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield each operation against columns, warps and programs per multiprocessor."""
    for op in OPERATIONS:
        for columns in (8, 32):
            for num_warps in (1, 4):
                for per in (1, 4, 8):
                    yield arithmetic("arithmetic", "warm", op, per * multiprocessors, 400,
                                     columns=columns, num_warps=num_warps)


def tile_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield the steps of a tile with keys in L2 and in memory, against programs and warps."""
    for op in STEPS:
        for block_n, num_warps, stages in ((64, 1, 2), (64, 2, 2), (128, 4, 2)):
            for per in (1, 2, 4, 8):
                yield tile("tile", "warm", op, 16 * MIB, per * multiprocessors, passes=4,
                           block_n=block_n, num_warps=num_warps, stages=stages)
            for per in (2, 4, 8):
                yield tile("tile", "cold", op, 512 * MIB, per * multiprocessors, block_n=block_n,
                           num_warps=num_warps, stages=stages)


def merge_points() -> Iterator[Probe]:
    """Yield merges against heads and splits."""
    for l2 in ("cold", "warm"):
        for heads in (32, 128, 512):
            for splits in (8, 32, 64, 132):
                yield merge(l2, heads, splits)


def wave_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield fixed work per program against programs, around full waves."""
    for half_waves in (1, 2, 3, 4, 8, 16, 32, 48, 64):
        for extra in (0, 1):
            programs = multiprocessors * half_waves // 2 + extra
            yield arithmetic("waves", "warm", "fma", programs, 2000)
            if programs <= 17 * multiprocessors:
                yield stream("waves", "cold", programs * 32 * 8192, programs, tile_bytes=8192)
