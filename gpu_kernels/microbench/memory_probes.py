"""Points that read or write memory: streams, gathers, links, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from gpu_kernels.microbench.setting import Probe, Setting

if TYPE_CHECKING:
    from gpu_kernels.microbench.lab import Lab

MIB = 2**20
L2State = Literal["cold", "warm", "steady"]
INFLIGHT_BYTES = 512 * MIB
"""Long enough that starting and ending a launch is under a tenth of the fastest time."""
GATHER_BYTES = 2048 * MIB
"""The values of 16 sequences of 32k keys in 8 heads of 128 bf16 numbers: 1 GiB, and their keys."""
HEADS = 8
TILE_BYTES = 16384
LINK_BYTES = 128


def strides(layout: str, row_bytes: int, heads: int, rows: int) -> tuple[int, int]:
    """Return (head stride, row stride) in bytes of an NHD or HND cache of one sequence."""
    if layout == "NHD":
        return row_bytes, heads * row_bytes
    return rows * row_bytes, row_bytes


def stream(
    experiment: str, l2: L2State, footprint: int, programs: int, *, passes: int = 1,
    tile_bytes: int = TILE_BYTES, stages: int = 2, num_warps: int = 4, row_bytes: int = 256,
    heads: int = 1, layout: str = "HND", data: str = "normal", energy: bool = False,
) -> Probe:
    """Return a point that reads `footprint` bytes in tiles; programs: rounded to full heads."""
    programs = max(1, programs // heads) * heads
    rows = footprint // heads // row_bytes
    head_stride, row_stride = strides(layout, row_bytes, heads, rows)

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.microbench.read_kernels import stream_kernel

        words = lab.words(data)
        out = torch.empty(programs, dtype=torch.int32, device=lab.device)
        shift = max(1, programs // heads // 3)

        def call() -> Any:
            return stream_kernel[(programs,)](
                words, out, rows, heads, head_stride // 4, row_stride // 4, passes, shift,
                ROW_WORDS=row_bytes // 4, BLOCK_ROWS=tile_bytes // row_bytes, STAGES=stages,
                num_warps=num_warps,
            )
        call.out = out  # type: ignore[attr-defined]  # tests look at it
        return call

    return Probe(Setting(
        experiment, "stream", l2, data=data, programs=programs, num_warps=num_warps,
        stages=stages, tile_bytes=tile_bytes, row_bytes=row_bytes, row_stride_bytes=row_stride,
        heads=heads, passes=passes, read_bytes=footprint, loaded_bytes=passes * footprint,
        write_bytes=4 * programs), make, energy)


def gather(
    experiment: str, l2: L2State, footprint: int, programs: int, row_bytes: int, density: float,
    *, order: str = "sorted", layout: str = "NHD", stages: int = 2, energy: bool = False,
) -> Probe:
    """Return a point that reads a share of a cache's rows, each head its own choice."""
    programs = max(1, programs // HEADS) * HEADS
    rows = footprint // HEADS // row_bytes
    head_stride, row_stride = strides(layout, row_bytes, HEADS, rows)
    count = max(1, round(rows * density))

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.microbench.read_kernels import gather_kernel

        words, index = lab.words(), chosen_rows(lab, rows, count, order)
        out = torch.empty(programs, dtype=torch.int32, device=lab.device)

        def call() -> Any:
            return gather_kernel[(programs,)](
                words, index, out, count, HEADS, head_stride // 4, row_stride // 4,
                ROW_WORDS=row_bytes // 4, BLOCK_ROWS=TILE_BYTES // row_bytes, STAGES=stages,
                num_warps=4,
            )
        call.out, call.index = out, index  # type: ignore[attr-defined]  # tests look at them
        return call

    moved = HEADS * count * (row_bytes + 4)
    return Probe(Setting(
        experiment, "gather", l2, data="normal", programs=programs, num_warps=4, stages=stages,
        tile_bytes=TILE_BYTES, row_bytes=row_bytes, row_stride_bytes=row_stride, heads=HEADS,
        density=density, order=order, passes=1, read_bytes=moved, loaded_bytes=moved,
        write_bytes=4 * programs), make, energy)


def chosen_rows(lab: Lab, rows: int, count: int, order: str) -> Any:
    """Return int32 [heads, count], distinct row numbers below `rows` of every head."""
    import torch

    generator = torch.Generator(lab.device).manual_seed(1)
    if order == "strata":
        width = rows // count
        first = torch.arange(count, device=lab.device) * width
        inside = torch.randint(width, (HEADS, count), generator=generator, device=lab.device)
        return (first + inside).to(torch.int32)
    picked = torch.stack([
        torch.randperm(rows, generator=generator, device=lab.device)[:count] for _ in range(HEADS)
    ])
    return (picked.sort(1).values if order == "sorted" else picked).to(torch.int32)


def chase(experiment: str, l2: L2State, footprint: int, steps: int) -> Probe:
    """Return a point that follows links through `footprint` bytes: the latency of a read."""
    places = footprint // LINK_BYTES

    def make(lab: Lab) -> Callable[[], Any]:
        import torch

        from gpu_kernels.microbench.read_kernels import chase_kernel

        generator = torch.Generator(lab.device).manual_seed(2)
        order = torch.randperm(places, generator=generator, device=lab.device)
        links = torch.zeros(places, LINK_BYTES // 4, dtype=torch.int32, device=lab.device)
        links[order, 0] = order.roll(-1).to(torch.int32)
        out = torch.empty(1, dtype=torch.int32, device=lab.device)

        def call() -> Any:
            return chase_kernel[(1,)](links, out, LINK_BYTES // 4, steps, num_warps=1)
        call.out, call.links = out, links  # type: ignore[attr-defined]  # tests look at them
        return call

    return Probe(Setting(
        experiment, "chase", l2, programs=1, num_warps=1, row_stride_bytes=LINK_BYTES,
        iterations=steps, read_bytes=footprint, loaded_bytes=32 * steps, write_bytes=4), make)


def copy(experiment: str, l2: L2State, footprint: int, *, energy: bool = False) -> Probe:
    """Return a point that copies `footprint` bytes with PyTorch: as many read as written."""

    def make(lab: Lab) -> Callable[[], Any]:
        source = lab.words()[: footprint // 4]
        target = source.clone()
        return lambda: target.copy_(source)

    return Probe(Setting(
        experiment, "torch_copy", l2, data="normal", read_bytes=footprint, loaded_bytes=footprint,
        write_bytes=footprint), make, energy)


def stream_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield streams against bytes in flight and programs, against size, and in both layouts."""
    shapes = [(kib * 1024, stages, 4) for kib in (8, 16, 32) for stages in (1, 2, 3, 5)]
    for tile_bytes, stages, num_warps in [*shapes, (8192, 2, 1)]:
        for eighths in (1, 2, 4, 8, 16, 32, 64):
            yield stream("stream", "cold", INFLIGHT_BYTES, multiprocessors * eighths // 8,
                         tile_bytes=tile_bytes, stages=stages, num_warps=num_warps)
    for quarter_mib in (1, 4, 16, 64, 128, 256, 512, 1024, 4096, 16384):
        for l2 in ("cold", "warm"):
            yield stream("size", l2, quarter_mib * MIB // 4, 4 * multiprocessors)
            yield stream("size", l2, quarter_mib * MIB // 4, multiprocessors, tile_bytes=32768,
                         stages=3)
    for layout in ("NHD", "HND"):
        for per in (4, 8):
            yield stream("layout", "cold", INFLIGHT_BYTES, per * multiprocessors, heads=HEADS,
                         layout=layout)
    yield copy("copy", "cold", INFLIGHT_BYTES)


def l2_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield repeated reads of what may stay in L2, against footprint and programs."""
    for footprint in (4, 8, 16, 24, 32, 40, 48, 64):
        for per in (1, 2, 4):
            yield stream("l2", "warm", footprint * MIB, per * multiprocessors, passes=8, stages=4)
    for eighths in (1, 2, 4):
        yield stream("l2", "warm", 16 * MIB, multiprocessors * eighths // 8, passes=8, stages=4)
    for row_bytes in (64, 256, 1024):
        yield gather("l2", "warm", 32 * MIB, 8 * multiprocessors, row_bytes, 1.0,
                     order="shuffled")


def gather_points(multiprocessors: int) -> Iterator[Probe]:
    """Yield gathers against row size, density, stride, order and bytes in flight."""
    for row_bytes in (64, 128, 256, 512, 1024):
        for density in (1 / 64, 1 / 16, 1 / 4, 1.0):
            for layout in ("NHD", "HND"):
                for order in ("sorted", "shuffled"):
                    yield gather("gather", "cold", GATHER_BYTES, 8 * multiprocessors, row_bytes,
                                 density, order=order, layout=layout)
    for density in (1 / 64, 1 / 16, 1 / 4):
        yield gather("gather", "cold", GATHER_BYTES, 8 * multiprocessors, 256, density,
                     order="strata")
    for per in (1, 2, 4, 16):
        for stages in (1, 3):
            yield gather("gather", "cold", GATHER_BYTES, per * multiprocessors, 256, 1 / 16,
                         stages=stages)


def latency_points() -> Iterator[Probe]:
    """Yield chains of dependent reads from L2 and from memory."""
    yield chase("latency", "warm", 8 * MIB, 2000)
    yield chase("latency", "warm", 24 * MIB, 2000)
    yield chase("latency", "cold", 256 * MIB, 2000)
    yield chase("latency", "cold", 2048 * MIB, 2000)
