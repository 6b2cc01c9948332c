import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from gpu_kernels.bench.timing import Timing  # noqa: E402
from gpu_kernels.board.nvml import Sample  # noqa: E402
from gpu_kernels.board.steady import BoardReading  # noqa: E402
from gpu_kernels.microbench import (  # noqa: E402
    compute_probes,
    energy_probes,
    measure,
    memory_probes,
)
from gpu_kernels.microbench.lab import Lab  # noqa: E402
from gpu_kernels.microbench.memory_probes import chosen_rows, gather, stream  # noqa: E402

pytestmark = pytest.mark.gpu
KIB = 1024


@pytest.fixture(scope="module")
def lab(device):
    return Lab(device, 256 * KIB)


def run(probe, lab):
    call = probe.make(lab)
    if hasattr(call, "out") and probe.setting.kernel != "relay":
        call.out.fill_(99)  # what is not written is noticed
    call()
    return call


def wrapped(total):
    return (int(total) + 2**31) % 2**32 - 2**31  # int32 sums wrap


@pytest.mark.parametrize("programs", [1, 3, 7])
@pytest.mark.parametrize("stages", [1, 3])
def test_stream_reads_every_word_as_often_as_it_says(lab, programs, stages):
    # 33 rows in tiles of 8: the last tile is cut, and 7 programs leave some without work
    call = run(stream("s", "cold", 33 * 256, programs, passes=2, tile_bytes=8 * 256,
                      stages=stages), lab)
    total = 2 * lab.words()[: 33 * 64].long().sum()
    assert wrapped(call.out.long().sum()) == wrapped(total)


def test_second_pass_of_a_stream_reads_another_programs_part(lab):
    call = run(stream("s", "warm", 24 * 256, 3, passes=2, tile_bytes=8 * 256), lab)
    parts = lab.words()[: 24 * 64].long().view(3, -1).sum(1)
    for program in range(3):
        assert wrapped(call.out[program]) == wrapped(parts[program] + parts[(program + 1) % 3])


@pytest.mark.parametrize("layout", ["NHD", "HND"])
def test_heads_of_a_stream_are_read_by_programs_of_their_own(lab, layout):
    call = run(stream("s", "cold", 40 * 256 * 2, 4, heads=2, layout=layout, tile_bytes=8 * 256),
               lab)
    words = lab.words()[: 80 * 64].long()
    rows = words.view(40, 2, 64).transpose(0, 1) if layout == "NHD" else words.view(2, 40, 64)
    for head in range(2):
        assert wrapped(call.out[head::2].long().sum()) == wrapped(rows[head].sum())


@pytest.mark.parametrize("layout", ["NHD", "HND"])
@pytest.mark.parametrize("order", ["sorted", "shuffled", "strata"])
def test_gather_reads_the_chosen_rows(lab, layout, order):
    heads, rows, row_words = memory_probes.HEADS, 64, 64
    call = run(gather("g", "cold", heads * rows * 256, 2 * heads, 256, 1 / 4, order=order,
                      layout=layout), lab)
    words = lab.words()[: heads * rows * row_words].long()
    shape = (rows, heads, row_words) if layout == "NHD" else (heads, rows, row_words)
    cache = words.view(shape).transpose(0, 1) if layout == "NHD" else words.view(shape)
    for head in range(heads):
        expected = cache[head, call.index[head].long()].sum()
        assert wrapped(call.out[head::heads].long().sum()) == wrapped(expected)


@pytest.mark.parametrize("order", ["sorted", "shuffled", "strata"])
def test_chosen_rows_are_distinct_and_in_order(lab, order):
    chosen = chosen_rows(lab, 64, 16, order).long()
    assert chosen.shape == (memory_probes.HEADS, 16)
    assert all(len(set(row)) == 16 and set(row) <= set(range(64)) for row in chosen.tolist())
    ascending = bool((chosen.diff(dim=1) > 0).all())
    assert ascending == (order != "shuffled")
    if order == "strata":
        assert bool((chosen // 4 == torch.arange(16, device=chosen.device)).all())


def test_chase_follows_one_cycle_through_all_places(lab):
    probe = memory_probes.chase("c", "warm", 16 * memory_probes.LINK_BYTES, 7)
    call = run(probe, lab)
    links, place, seen = call.links[:, 0].tolist(), 0, []
    for _ in range(16):
        place = links[place]
        seen.append(place)
    assert sorted(seen) == list(range(16))
    assert int(call.out) == seen[6]


def test_arithmetic_repeats_its_operation(lab):
    keys = lab.numbers()[: 16 * 128].double().view(16, 128)
    queries = lab.numbers()[16 * 128 : 16 * 128 + 128 * 8].double().view(128, 8)

    def expected(op):
        x = keys[:, :8]
        for turn in range(3):
            if op == "dot":
                x = x + keys @ queries
            elif op == "exp":
                x = torch.exp2(-x)
            elif op == "fma":
                x = 0.5 * x + 1
            elif op == "max":
                x = x - 0.5 * x.max(0).values
            else:
                x = x.abs().frac() if turn == 0 else x
                x = 3.9 * (x - x * x) if op == "logistic" else x * torch.exp2(4.5 - 4.5 * x)
        return x.sum(0)

    for op in ("dot", "exp", "fma", "max", "logistic", "ricker"):
        call = run(compute_probes.arithmetic("a", "warm", op, 2, 3, block_n=16), lab)
        # float32 sums of 16 numbers, products of 128: far inside 1e-4 of the largest, about 200
        torch.testing.assert_close(call.out[1].double(), expected(op), rtol=1e-4, atol=1e-3)


def test_numbers_that_shall_not_come_to_rest_do_not():
    # double: a GPU's float32 differs in each number, not in how they spread
    start = torch.rand(500, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for turn in (lambda x: 3.9 * (x - x * x), lambda x: x * torch.exp2(4.5 - 4.5 * x)):
        x = start
        for _ in range(20_000):
            x, before = turn(x), x
        assert x.std() > 0.2
        assert ((x - before).abs() > 1e-3).double().mean() > 0.9


def test_arithmetic_on_whole_numbers_is_exact(lab):
    start = (8 * lab.numbers()[: 16 * 128].float().view(16, 128)[:, :8]).to(torch.int64)
    running, level = start, torch.full((8,), 3, device=start.device)
    for _ in range(3):
        running = running.cumsum(0) & 255
        level = level + ((start < level).sum(0) & 1)
    scan = run(compute_probes.arithmetic("a", "warm", "scan", 2, 3, block_n=16), lab)
    compare = run(compute_probes.arithmetic("a", "warm", "compare", 2, 3, block_n=16), lab)
    assert scan.out[0].tolist() == running.sum(0).tolist()
    assert compare.out[0].tolist() == level.tolist()


def test_steps_of_a_tile(lab):
    tiles, block_n = 5, 16  # two programs: one takes three tiles, one two
    keys = lab.numbers()[: tiles * block_n * 128].double().view(tiles, block_n, 128)
    call = run(compute_probes.tile("t", "cold", "dot", tiles * block_n * 256, 2, block_n=block_n),
               lab)
    scores = keys @ call.queries.double().view(128, 8)
    u = torch.exp2(scores - scores.max(1, keepdim=True).values)
    mass = u.sum(1)
    found = {}
    for op in compute_probes.STEPS:
        found[op] = run(compute_probes.tile("t", "cold", op, tiles * block_n * 256, 2,
                                            block_n=block_n), lab).out.double().sum(0)
    # sums of 80 float32 scores below 10
    torch.testing.assert_close(found["dot"][0], scores.sum((0, 1)), rtol=1e-4, atol=1e-3)
    for op in ("exp", "scan", "compare"):
        torch.testing.assert_close(found[op][0], mass.sum(0), rtol=1e-4, atol=1e-4)
    # units of 2^-20 per key and of 2^-10 per tile are cut off
    torch.testing.assert_close(found["scan"][1], mass.sum(0), rtol=0, atol=0.01)
    half = (u.cumsum(1) < mass[:, None] / 2).sum((0, 1)).double()
    # a running sum within rounding of the half may count on either side
    assert bool(((found["compare"][1] - half).abs() <= 1).all())
    assert float((found["compare"][1] - half).abs().sum()) <= 2


def test_passes_of_a_tile_repeat_its_sums(lab):
    once, twice = (run(compute_probes.tile("t", "warm", "exp", 4 * 16 * 256, 2, passes=passes,
                                           block_n=16), lab).out.sum(0) for passes in (1, 2))
    torch.testing.assert_close(2 * once, twice, rtol=1e-5, atol=1e-5)


def test_relay_passes_a_number_through_all_launches(lab):
    probe = compute_probes.launch("relay", 3, 4, lab.device.type == "cuda")
    assert int(run(probe, lab).out) == 4
    assert int(run(compute_probes.launch("empty", 3, 4, False), lab).out) == 0


def test_merge_weighs_splits_by_their_maxima(lab):
    call = run(compute_probes.merge("cold", 2, 5), lab)
    part, peaks, sums = (x.double() for x in call.parts)
    weight = torch.exp2(peaks - peaks.max(1, keepdim=True).values)
    exact = (part * weight[:, :, None]).sum(1) / (sums * weight).sum(1, keepdim=True)
    # bf16 keeps 8 bits; the interpreter cuts the rest off
    torch.testing.assert_close(call.out.double(), exact, rtol=2**-7, atol=1e-6)


class Board:
    """A stopwatch and a meter that answer the same each time."""

    reason = ""

    def measure(self, call, *, cold, repeats):
        call()
        return Timing(2e-6, 1e-6, 3e-6, repeats)

    def sample(self):
        return Sample(0.0, 1.0, 100.0, None, 1980.0, 3201.0, 30.0, 0)


def board_reading(watts):
    return BoardReading(2.0, watts, watts, None, 1500.0, None, None, 4, "")


def test_row_has_every_column_and_joules_above_idle(lab, monkeypatch):
    idle, busy = board_reading(100.0), board_reading(400.0)
    monkeypatch.setattr(measure, "idle_reading", lambda meter: idle)
    monkeypatch.setattr(measure, "steady_reading", lambda calls, meter: (0.5e-3, 4000, busy))
    bench = measure.Bench(lab, Board(), Board())
    columns = measure.PARAMETERS + measure.RESULTS
    timed = bench.row(stream("s", "cold", 8 * 256, 1, tile_bytes=8 * 256))
    assert list(timed) == columns
    assert (timed["time_us"], timed["time_us_p20"], timed["time_us_p80"]) == (2.0, 1.0, 3.0)
    assert bench.row(energy_probes.idle("before"))["power_counter_w"] == 100.0
    row = bench.row(stream("s", "steady", 8 * 256, 1, tile_bytes=8 * 256, energy=True))
    assert list(row) == columns
    # 400 W and 300 W above idle for 0.5 ms
    assert row["energy_counter_mj"] == pytest.approx(200.0)
    assert row["dynamic_mj"] == pytest.approx(150.0)
