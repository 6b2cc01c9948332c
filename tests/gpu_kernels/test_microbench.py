import csv
import math

import pytest

from gpu_kernels.board.nvml import Sample
from gpu_kernels.board.steady import reading
from gpu_kernels.microbench import __main__ as command
from gpu_kernels.microbench.measure import PARAMETERS, RESULTS
from gpu_kernels.microbench.plan import PARTS, expected_seconds, points
from gpu_kernels.microbench.rows_file import RowsFile
from hw_models.problems import SpecError

SOURCE = {"device": "GPU A", "driver": "1", "torch": "2", "triton": "3", "git_commit": "abc"}


def sample(time_s, counter_j=None, power_w=None):
    return Sample(time_s, counter_j, power_w, None, 1500.0, None, None, 4)


def ramp(watts, *, shown_w=None, step_s=0.1, seconds=2.0):
    """Readings every 10 ms of a counter that moves only every `step_s`."""
    times = [i / 100 for i in range(round(100 * seconds))]
    steps = [math.floor(t / step_s + 1e-9) * step_s for t in times]
    return [sample(t, 1000 + watts * s, watts if shown_w is None else shown_w)
            for t, s in zip(times, steps, strict=True)]


def test_power_times_time_is_energy_however_coarse_the_counter():
    for step_s in (0.01, 0.1, 0.25):
        found = reading(ramp(300.0, step_s=step_s), "")
        assert found.counter_w == pytest.approx(300.0)
        assert found.integral_w == pytest.approx(300.0)
        assert found.note == ""


def test_integral_follows_a_power_that_changes():
    samples = [sample(t / 10, power_w=100.0 + 20 * t) for t in range(11)]
    assert reading(samples, "").integral_w == pytest.approx(200.0)


def test_warning_only_when_counter_and_integral_differ_by_over_a_tenth():
    assert "warning" not in reading(ramp(300.0, shown_w=275.0), "").note
    found = reading(ramp(300.0, shown_w=260.0), "")
    assert "warning: counter 300.0 W, power integral 260.0 W" in found.note


def test_unavailable_is_none_with_the_reason_and_never_zero():
    found = reading([sample(t / 10, power_w=100.0) for t in range(11)], "energy counter: no")
    assert found.counter_w is None
    assert found.integral_w == pytest.approx(100.0)
    assert found.note == "energy counter: no"
    found = reading([sample(t / 10) for t in range(11)], "power: no")
    assert found.integral_w is None
    assert found.counter_w is None


def test_counter_that_stands_still_is_unavailable():
    found = reading([sample(t / 10, 5.0, 100.0) for t in range(11)], "")
    assert found.counter_w is None
    assert "stood still" in found.note


def test_reasons_for_a_lower_clock_add_up():
    assert reading(ramp(300.0), "").held_down == 4


@pytest.mark.parametrize("multiprocessors", [82, 128, 132, 142])
def test_every_point_is_measured_once_and_all_in_under_six_minutes(multiprocessors):
    every = points(PARTS, multiprocessors)
    assert len({tuple(p.setting.as_text().values()) for p in every}) == len(every)
    assert 60 < expected_seconds(every) < 360
    assert expected_seconds([]) < expected_seconds(every[:10]) < expected_seconds(every)


def test_points_state_what_is_cold_what_they_read_and_fit_the_pool():
    from gpu_kernels.microbench.lab import POOL_BYTES

    for probe in points(PARTS, 132):
        s = probe.setting
        assert s.l2 in ("cold", "warm", "steady")
        assert (s.l2 == "steady") == probe.energy
        if s.read_bytes:
            assert s.read_bytes <= POOL_BYTES
            assert s.loaded_bytes
        if s.experiment == "l2":
            assert s.read_bytes <= 66 * 2**20
        if s.kernel == "stream" and s.l2 == "steady":
            assert s.read_bytes >= 2**30 or s.passes > 1


def row(number):
    return dict.fromkeys(PARAMETERS + RESULTS, "") | {"experiment": "stream", "programs": number}


def test_resumed_file_knows_what_it_holds_and_appends(tmp_path):
    path = tmp_path / "m.csv"
    file = RowsFile(path, SOURCE, resume=False)
    file.add(row(1))
    again = RowsFile(path, SOURCE, resume=True)
    wanted = {name: str(value) for name, value in row(1).items()}
    assert again.has(wanted)
    assert not again.has(wanted | {"programs": "2"})
    again.add(row(2))
    assert again.has(wanted | {"programs": "2"})
    with path.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert [r["programs"] for r in rows] == ["1", "2"]
    assert rows[0]["git_commit"] == "abc"


@pytest.mark.parametrize("changed", ["device", "driver", "torch", "triton"])
def test_another_machine_does_not_add_to_a_file(tmp_path, changed):
    path = tmp_path / "m.csv"
    RowsFile(path, SOURCE, resume=False).add(row(1))
    with pytest.raises(SpecError, match=rf"m\.csv:2: was measured with {changed} .*, here it is B"):
        RowsFile(path, SOURCE | {changed: "B"}, resume=True)


def test_a_file_is_not_overwritten_unasked(tmp_path):
    path = tmp_path / "m.csv"
    RowsFile(path, SOURCE, resume=False)
    with pytest.raises(SpecError, match="--resume"):
        RowsFile(path, SOURCE, resume=False)


def test_file_with_other_columns_is_refused(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("a,b\n")
    with pytest.raises(SpecError, match="other columns"):
        RowsFile(path, SOURCE, resume=True)


def test_unknown_part_is_named_with_the_nearest(capsys):
    assert command.main(["--only", "strem"]) == 2
    line = capsys.readouterr().err.strip()
    assert "strem" in line
    assert "stream" in line
    assert "\n" not in line


def test_without_a_gpu_one_clear_line(capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    assert command.main([]) == 2
    assert "CUDA device" in capsys.readouterr().err


def test_counted_bytes_are_added_up_per_call_and_preparations_left_out():
    from gpu_kernels.microbench.counted_bytes import METRICS, counted_rows

    def line(number, kernel, value):
        return ",".join(f'"{cell}"' for cell in (number, kernel, *[value] * len(METRICS)))

    header = ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *METRICS.values()))
    units = ",".join(['""'] * (2 + len(METRICS)))
    kernels = ["relay_kernel", "draw_kernel", "relay_kernel", "flash_kernel", "merge_kernel",
               "relay_kernel", "relay_kernel", "stream_kernel"]
    text = "\n".join(["==PROF== Connected", "==PROF== done", header, units]
                     + [line(i, name, f"1,{i}00") for i, name in enumerate(kernels)])
    rows = list(counted_rows(text, "flash,900,90\nstream,7000,4\n"))
    assert [(r["case"], r["kernel"]) for r in rows] == [
        ("flash", "flash_kernel"), ("flash", "merge_kernel"), ("flash", "all"),
        ("stream", "stream_kernel"), ("stream", "all")]
    assert rows[2]["dram_read_bytes"] == 1300 + 1400
    assert (rows[2]["expected_read_bytes"], rows[2]["expected_write_bytes"]) == (900, 90)
    assert rows[4]["dram_write_bytes"] == 1700


def test_profiler_without_an_answer_gives_no_rows():
    from gpu_kernels.microbench.counted_bytes import counted_rows

    assert not list(counted_rows("==ERROR== Failed to initialize the profiler", ""))
