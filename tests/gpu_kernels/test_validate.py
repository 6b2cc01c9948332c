import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpu_kernels.calibration.parts import CHECKED, FITTED
from gpu_kernels.calibration.rows import Row, read_rows
from gpu_kernels.launches.bench_calls import row_call
from gpu_kernels.launches.expected_rows import CAPTURE
from gpu_kernels.launches.priced import call_launches, warm_share
from gpu_kernels.split_plan import OFFLINE_LIMITS
from gpu_kernels.validate import main
from gpu_kernels.validation.committed import CALIBRATED
from gpu_kernels.validation.dram import COUNTED_COLUMNS, compare_bytes
from gpu_kernels.validation.summary import summarise
from gpu_kernels.validation.times import BENCH_COLUMNS, compare_times
from gpu_kernels.validation.unseen import setting, unseen
from gpu_kernels.validation.validation import unlike
from hw_models.gpu.calibration import load_calibration
from hw_models.gpu.timing import GpuTiming

ROOT = Path(__file__).parents[2]
H200 = CALIBRATED["h200_sxm"]
CALIBRATION = load_calibration(H200.calibration)
VALUES = CALIBRATION.values()
ROWS = read_rows([H200.decode], BENCH_COLUMNS, "bench")
COMPARED = compare_times(ROWS, CALIBRATION, ROOT / CAPTURE)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def changed(row, **cells):
    return Row(row.cells | {name: str(value) for name, value in cells.items()}, row.file, row.line)


def written(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0].cells))
        writer.writeheader()
        writer.writerows(row.cells for row in rows)
    return path


def test_json_has_exactly_the_errors_of_held_out_points(capsys):
    assert main(["--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert list(found) == ["time", "dram_bytes", "energy"]
    for name in found:
        assert list(found[name]) == ["n", "median", "p90", "max"]
        assert 0 < found[name]["median"] <= found[name]["p90"] <= found[name]["max"]
    assert found["time"]["n"] >= 60


def test_the_command_runs_where_torch_and_triton_cannot_be_imported():
    code = ("import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
            "from gpu_kernels.validate import main; sys.exit(main(['--json']))")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_tables_name_the_worst_point_and_its_term(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    worst = max(COMPARED.points, key=lambda point: abs(point.error))
    assert f"{worst.error:+.1%}" in out
    assert worst.bound in out
    assert "Fitted on: microbenchmarks only" in out


def test_every_kernel_of_ours_in_the_file_is_predicted():
    ours = [row for row in ROWS if not row.text("kernel").startswith(("sdpa", "flashinfer"))
            and row.text("l2") != "steady"]
    assert len(COMPARED.points) == len(ours)
    assert COMPARED.left_out == ()


def test_no_attention_point_is_fitted_on():
    assert not [row for row in ROWS for part in (*FITTED, *CHECKED) if part.takes(row)]


def test_points_that_nobody_had_looked_at_are_settings_of_one_file_and_of_no_other(capsys):
    rows = read_rows([H200.opened_last], BENCH_COLUMNS, "bench")
    seen = {setting(row) for row in (*ROWS, *read_rows([H200.energy], BENCH_COLUMNS, "bench"))}
    known = [row for row in rows if setting(row) in seen]
    assert known  # else the next line shows nothing
    compared = compare_times(rows, CALIBRATION, ROOT / CAPTURE)
    assert compared.left_out == ()
    apart = unseen(compared.points)
    assert {id(point.row) for point in apart} == {id(row) for row in rows} - {id(r) for r in known}
    assert unseen(COMPARED.points) == []
    assert main([]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "never looked at" in line)
    assert f"│ {len(apart)} │" in line
    assert f"{summarise([point.error for point in apart]).median:.2%}" in line


def test_shuffling_predicted_against_measured_explodes_the_error():
    right = summarise([point.error for point in COMPARED.points])
    predicted = [point.predicted_s for point in COMPARED.points]
    # one fixed order; times span a factor of 50
    others = np.random.default_rng(0).permutation(predicted)
    wrong = summarise([p / point.measured_s - 1
                       for p, point in zip(others, COMPARED.points, strict=True)])
    assert wrong.median > 5 * right.median
    assert wrong.max > 5 * right.max


def test_expected_bytes_are_those_of_the_rows_that_were_drawn():
    # the bench counted the union of what its seed drew; one seed's union has a standard deviation
    # below √rows, and at least 500 rows of 256 bytes stand beside 16 MB of keys
    for point in COMPARED.points:
        call = point.call
        if call.kernel == "s2anta_flash":
            predicted = (call.keys + call.unique_rows) * call.sizes.row_bytes
            assert predicted == pytest.approx(point.row.number("moved_bytes"), rel=2e-3)


def test_time_never_falls_with_more_keys_and_never_beats_the_memory():
    for kernel in ("dense", "s2anta_flash", "s2anta_comb", "s2anta_prop"):
        row = next(row for row in ROWS if row.text("kernel") == kernel
                   and row.text("dtype") == "bfloat16")
        timing, last = GpuTiming.of(CALIBRATION), 0.0
        for batch in (1, 4, 16):
            call = row_call(changed(row, batch=batch, context=32768, head_dim=128, inputs="flat",
                                    samples=32768 // 128 if kernel == "s2anta_prop" else 1024,
                                    kv_layout="NHD"), ROOT / CAPTURE)
            launches = call_launches(call, OFFLINE_LIMITS[9, 0], VALUES["l2_capacity"])
            time_s = timing.call_s(launches)
            moved = sum(one.stream_bytes + one.gather_bytes for one in launches)
            assert time_s > moved / VALUES["read_bandwidth"]
            assert time_s > last
            last = time_s


@pytest.mark.parametrize("column", ["device", "driver", "timer"])
def test_comparing_with_another_gpu_driver_or_timer_warns(tmp_path, capsys, column):
    rows = [changed(row, **{column: "other"}) for row in ROWS if row.text("kernel") == "dense"]
    file = written(tmp_path / "decode.csv", rows)
    assert main([str(file), "--json"]) == 0
    captured = capsys.readouterr()
    assert f"warning: {column} of decode.csv is 'other'" in captured.err
    assert json.loads(captured.out)["dram_bytes"] == {"n": 0,
                                                      "reason": "no file of counted bytes"}
    assert unlike(rows[:1], CALIBRATION)


def test_a_call_whose_own_reads_fit_into_the_l2_is_faster_warm():
    row = next(row for row in ROWS if row.text("kernel") == "dense")
    small = row_call(changed(row, batch=1, context=4096), ROOT / CAPTURE)
    timing = GpuTiming.of(CALIBRATION)
    cold, warm = (timing.call_s(call_launches(small, OFFLINE_LIMITS[9, 0], VALUES["l2_capacity"],
                                              warm=state)) for state in (False, True))
    assert warm < cold


def test_what_a_warm_l2_serves_falls_from_all_to_nothing_between_half_and_all_of_its_size():
    assert [warm_share(share * 6e7, 6e7) for share in (0.1, 0.5, 0.75, 1.0, 4.0)] == [1, 1, 0.5, 0,
                                                                                     0]


def test_bytes_of_counted_calls_are_predicted_kernel_by_kernel_and_in_all():
    rows = read_rows([H200.counted], COUNTED_COLUMNS, "counted-bytes")
    found = compare_bytes(rows, CALIBRATION)
    assert {point.case for point in found} == {
        f"{kernel}_b{batch}_n32768" for kernel in ("dense", "s2anta_flash", "s2anta_comb")
        for batch in (1, 16)}
    for case in {point.case for point in found}:
        parts = [p.predicted for p in found if p.case == case and p.kernel != "all"]
        (whole,) = [p.predicted for p in found if p.case == case and p.kernel == "all"]
        assert sum(parts) == pytest.approx(whole)


@pytest.mark.parametrize(("arguments", "said"), [
    (["nothing.csv"], "nothing.csv: cannot read"),
    (["gpu_kernels/measurements/h200/2026-12-01_microbench.csv"], "is no bench file"),
    (["--accelerator", "h200"], "h200_sxm"),
])
def test_files_that_do_not_serve_are_refused_in_one_line(capsys, arguments, said):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
