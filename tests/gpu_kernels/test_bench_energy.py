import contextlib
import csv
from dataclasses import fields
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from gpu_kernels.bench import __main__ as command  # noqa: E402
from gpu_kernels.bench import call_energy  # noqa: E402
from gpu_kernels.bench.call_energy import L2_MULTIPLE, CallEnergy, EnergyBench  # noqa: E402
from gpu_kernels.bench.config import BenchConfig, load_config  # noqa: E402
from gpu_kernels.bench.duration import energy_points, expected_seconds  # noqa: E402
from gpu_kernels.bench.run import as_row, run_bench  # noqa: E402
from gpu_kernels.bench.timing import Timing  # noqa: E402
from gpu_kernels.board import nvml, steady  # noqa: E402
from gpu_kernels.board.steady import BoardReading  # noqa: E402

FILE = Path(__file__).parents[2] / "benchmarks" / "energy.yaml"
SMALL = {
    "geometry": {"num_qo_heads": 4, "num_kv_heads": 2, "head_dim": 64, "dtype": "float16"},
    "sizes": [{"batch": 1, "context": 128}], "inputs": [{"kind": "flat"}], "peers": [],
    "kernels": [{"name": "dense"}, {"name": "s2anta_comb", "keys_per_sample": 16, "tile": 32}],
    "l2": ["cold"], "repeats": 5, "energy": {"window_s": 1},
}
KEY_BYTES = 128 * 2 * 64 * 2


class Watch:
    device = torch.device("cpu")

    def measure(self, call, *, cold, repeats):
        call()
        return Timing(2e-6, 1e-6, 3e-6, repeats)


def board(counter_w, integral_w=None, note=""):
    return BoardReading(1.9, counter_w, integral_w, None, 1500.0, None, None, 4, note)


@pytest.fixture
def energy(monkeypatch):
    """An energy bench on a board of 100 W idle and 400 W busy that runs each call once."""
    seen = []

    def repeat(calls, meter, window_s):
        seen.append([call().clone() for call in calls])
        return 0.5e-3, 4000, board(400.0, 380.0)

    monkeypatch.setattr(call_energy, "idle_reading", lambda meter: board(100.0))
    monkeypatch.setattr(call_energy, "steady_reading", repeat)
    found = EnergyBench(None, KEY_BYTES)  # an L2 as large as the keys
    found.seen = seen
    return found


@pytest.mark.gpu
def test_every_kernel_is_repeated_on_caches_that_the_l2_cannot_hold(energy):
    rows = list(run_bench(BenchConfig.model_validate(SMALL), Watch(), pytest.fail, energy))
    assert [(m.kernel, m.l2) for m in rows] == [
        ("dense", "cold"), ("dense", "steady"), ("s2anta_comb", "cold"), ("s2anta_comb", "steady")]
    for outs in energy.seen:
        assert len(outs) == L2_MULTIPLE
        # copies of one cache, and one seed: each call finds the same answer at another place
        assert all(torch.equal(out, outs[0]) for out in outs)
    steady_row = rows[1].energy
    # 400 W by the counter, 380 W by the integral, 300 and 280 W above idle, for 0.5 ms
    assert steady_row.energy_counter_mj == pytest.approx(200.0)
    assert steady_row.energy_integral_mj == pytest.approx(190.0)
    assert steady_row.dynamic_counter_mj == pytest.approx(150.0)
    assert steady_row.dynamic_integral_mj == pytest.approx(140.0)
    assert (rows[1].time_us, rows[1].time_us_p20) == (500.0, None)
    assert rows[0].energy is None


@pytest.mark.gpu
def test_every_row_of_a_file_has_the_same_columns_with_units_in_their_names(energy):
    rows = [as_row(m) for m in
            run_bench(BenchConfig.model_validate(SMALL), Watch(), pytest.fail, energy)]
    assert len({tuple(row) for row in rows}) == 1
    assert {field.name for field in fields(CallEnergy)} <= set(rows[0])
    assert rows[0]["dynamic_counter_mj"] is None
    assert rows[1]["energy_counter_mj"] == pytest.approx(200.0)
    assert rows[1]["time_us"] == 500.0


@pytest.mark.gpu
def test_a_call_that_no_graph_can_hold_is_reported_and_the_rest_is_measured(energy, monkeypatch):
    def refuse(calls, meter, window_s):
        if not energy.seen:
            energy.seen.append("refused")
            raise RuntimeError("operation not permitted\nwhen stream is capturing")
        return 0.5e-3, 4000, board(400.0)

    monkeypatch.setattr(call_energy, "steady_reading", refuse)
    said = []
    rows = list(run_bench(BenchConfig.model_validate(SMALL), Watch(), said.append, energy))
    assert [(m.kernel, m.l2) for m in rows] == [
        ("dense", "cold"), ("s2anta_comb", "cold"), ("s2anta_comb", "steady")]
    (line,) = said
    assert line == ("no energy of dense at batch 1, context 128: operation not permitted when"
                    " stream is capturing")


def test_what_the_board_does_not_say_is_none_with_the_reason(monkeypatch):
    monkeypatch.setattr(call_energy, "idle_reading", lambda meter: board(None, note="power: no"))
    monkeypatch.setattr(call_energy, "steady_reading",
                        lambda *_: (1e-3, 10, board(None, 300.0, "energy counter: no")))
    found = EnergyBench(None, 1).measure([None], 1.0)
    assert found.energy_counter_mj is None
    assert found.energy_integral_mj == pytest.approx(300.0)
    assert found.dynamic_integral_mj is None  # nothing to subtract
    assert found.note == "energy counter: no"


class Clock:
    """Time that passes only while a fake device works."""

    def __init__(self):
        self.now = 0.0


class FakeCuda:
    """Events, graphs and waiting of a device on which each call takes 0.4 ms."""

    CALL_S = 0.4e-3

    def __init__(self, monkeypatch):
        clock = self.clock = Clock()
        self.recording = None

        class Event:
            def __init__(self, enable_timing=False):
                self.at = 0.0

            def record(self):
                self.at = clock.now

            def synchronize(self):
                pass

            def elapsed_time(self, other):
                return 1e3 * (other.at - self.at)

        class Graph:
            def replay(graph):
                for work in graph.work:
                    work()

        @contextlib.contextmanager
        def graph(target):
            self.recording = target.work = []
            yield
            self.recording = None

        for name, value in (("Event", Event), ("CUDAGraph", Graph), ("graph", graph),
                            ("synchronize", lambda: None)):
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(steady.time, "perf_counter", lambda: clock.now)

    def call(self, name, log):
        def work():
            self.clock.now += self.CALL_S
            log.append(name)

        return lambda: self.recording.append(work) if self.recording is not None else work()


class Meter:
    """A board at 200 W, whose counter steps every 20 ms."""

    reason = ""

    def __init__(self, clock):
        self._clock = clock

    def sample(self):
        now = self._clock.now
        return nvml.Sample(now, 200.0 * (now // 0.02 * 0.02), 200.0, None, 1500.0, None, None, 0)


def test_calls_are_replayed_in_turn_for_the_window_and_their_time_is_the_mean(monkeypatch):
    cuda = FakeCuda(monkeypatch)
    log = []
    calls = [cuda.call(name, log) for name in "abc"]
    time_s, count, _ = steady.steady_reading(calls, Meter(cuda.clock), 1.0)
    assert time_s == pytest.approx(cuda.CALL_S)
    # replays of 8 rounds of 3 calls, 9.6 ms each, until a second has passed
    assert count == 24 * 105
    assert log[-6:] == list("abcabc")


def test_the_files_points_fit_three_minutes_and_cover_every_kernel(capsys):
    config = load_config(FILE)
    assert 24 <= energy_points(config) <= 30
    assert expected_seconds(config) < 180
    named = {k.name for part in config.parts() for k in part.kernels}
    assert named == {"dense", "s2anta_flash", "s2anta_comb", "s2anta_prop", "bernoulli_qk",
                     "bernoulli_qk_flash"}
    assert config.peers
    batches = {size.batch for part in config.parts() for size in part.sizes}
    assert len(batches) >= 4


@pytest.mark.gpu
def test_the_command_says_its_minutes_first_and_writes_the_file(
    tmp_path, capsys, energy, monkeypatch
):
    config, out = tmp_path / "small.yaml", tmp_path / "out.csv"
    import json

    config.write_text(json.dumps(SMALL), encoding="utf-8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties",
                        lambda _: type("P", (), {"L2_cache_size": KEY_BYTES}))
    monkeypatch.setattr(torch, "device", lambda _: Watch.device)
    monkeypatch.setattr("gpu_kernels.bench.timing.Stopwatch", lambda device: Watch())
    monkeypatch.setattr("gpu_kernels.bench.provenance.provenance", lambda: {"device": "fake"})
    monkeypatch.setattr(nvml, "open_meter", lambda: None)
    assert command.main(["--config", str(config), "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "GPU minutes, with energy at 2 points" in said.err.splitlines()[0]
    assert said.err.splitlines()[-1] == "idle board: 100.0 W before, 100.0 W after"
    assert "200.000 mJ, 400 W" in said.out
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["l2"] for row in rows] == ["cold", "steady"] * 2
    assert rows[1]["energy_counter_mj"] == "200.0"
    assert rows[0]["energy_counter_mj"] == ""
