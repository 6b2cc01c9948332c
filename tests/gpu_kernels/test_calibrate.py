import csv
import subprocess
import sys
from pathlib import Path

import pytest

import gpu_kernels.calibration.calibrate_rows as calibrate_rows_module
from gpu_kernels.calibrate import main
from gpu_kernels.calibration.calibrate_rows import calibrate_rows, split
from gpu_kernels.calibration.document import to_place
from gpu_kernels.calibration.launches import launches
from gpu_kernels.calibration.parts import CHECKED, FITTED, measured, predicted_s, predicted_w
from gpu_kernels.calibration.rows import Row, differences, read_rows
from gpu_kernels.launches.resident import resident_programs
from hw_models.gpu.calibration import load_calibration

PACKAGE = Path(__file__).parents[2] / "gpu_kernels"
MEASURED = [PACKAGE / "measurements" / "h200" / f"2026-12-01_{name}.csv"
            for name in ("microbench", "energy_microbench")]
FILES = [str(path) for path in MEASURED]
COMMITTED = PACKAGE / "calibrations" / "h200.yaml"
ROWS = read_rows(MEASURED)
VALUES = load_calibration(COMMITTED).values()


def changed(row, **cells):
    return Row(row.cells | {name: str(value) for name, value in cells.items()}, row.file, row.line)


def written(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        # rows of a file without some columns have them blank
        columns = dict.fromkeys(name for row in rows for name in row.cells)
        writer = csv.DictWriter(file, list(columns))
        writer.writeheader()
        writer.writerows(row.cells for row in rows)
    return path


def test_refitting_from_the_committed_files_gives_the_committed_calibration_to_the_last_digit(
    tmp_path, capsys
):
    out = tmp_path / "h200.yaml"
    assert main([*FILES, "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8") == COMMITTED.read_text(encoding="utf-8")
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "held out: gather" in captured.out


def test_the_command_runs_where_torch_and_triton_cannot_be_imported(tmp_path):
    code = ("import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
            "from gpu_kernels.calibrate import main; sys.exit(main(sys.argv[1:]))")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *FILES, "-o", str(tmp_path / "c.yaml")],
        capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_fit_finds_the_parameters_that_its_measurements_were_made_with():
    # readings of one row stay as measured; all fitted parameters are moved by up to 20 %
    names = [name for part in FITTED for name in part.parameters]
    truth = VALUES | {name: VALUES[name] * (1.2 - 0.02 * index)
                      for index, name in enumerate(names)}
    made = list(ROWS)
    for part in FITTED:
        for index, row in enumerate(made):
            if part.takes(row) and part.unit == "s":
                made[index] = changed(row, time_us=predicted_s(row, truth, 132) * 1e6)
            elif part.takes(row):
                watts = predicted_w(row, truth) + row.number("idle_w")
                made[index] = changed(row, power_counter_w=watts)
    found = calibrate_rows(made)
    # the rounds over the parts leave a small remainder, far below any standard error
    assert {name: found.values[name] for name in names} == pytest.approx(
        {name: truth[name] for name in names}, rel=1e-4)
    assert max(error["max"] for name, error in found.held_out.items()
               if name.startswith("stream, ")) < 1e-4


def test_the_fit_does_not_depend_on_where_it_starts(monkeypatch):
    once = calibrate_rows(ROWS)
    for name in calibrate_rows_module.START:
        if name != "launch":  # the clock's reading takes this one as it is
            monkeypatch.setitem(calibrate_rows_module.START, name,
                                1.5 * calibrate_rows_module.START[name])
    # the closest printed value has five digits
    assert calibrate_rows(ROWS).values == pytest.approx(once.values, rel=1e-6)


def test_no_row_is_both_fitted_on_and_held_out():
    fitted, held = set(), set()
    for part in FITTED:
        used, kept = split(part, ROWS)
        fitted |= {(row.file, row.line) for row in used}
        held |= {(row.file, row.line) for row in kept}
    for part in CHECKED:
        held |= {(row.file, row.line) for row in ROWS if part.takes(row)}
    assert fitted
    assert held
    assert fitted & held == set()


def test_no_attention_kernel_is_fitted_on():
    kernels = {row.text("kernel") for part in FITTED for row in ROWS if part.takes(row)}
    assert kernels == {"relay", "chase", "stream", "gather", "arithmetic", "tile"}


@pytest.mark.parametrize("name", ["stream, memory full", "gather"])
def test_errors_explode_when_predictions_are_compared_with_other_points(name):
    part = next(part for part in FITTED if part.name == name)
    _, held = split(part, ROWS)
    predicted = [predicted_s(row, VALUES, 132) for row in held]
    right = sorted(abs(p / measured(row) - 1) for p, row in zip(predicted, held, strict=True))
    others = held[5:] + held[:5]
    wrong = sorted(abs(p / measured(row) - 1) for p, row in zip(predicted, others, strict=True))
    # the mean, because many streams of one size take the same time
    assert sum(wrong) > 20 * sum(right)


def test_comparing_files_of_another_gpu_driver_or_timer_warns(tmp_path, capsys):
    for column in ("device", "driver", "timer"):
        mixed = [changed(row, **{column: "other"}) if row.text("experiment") == "copy" else row
                 for row in ROWS]
        (warning,) = differences(mixed)
        assert f"2 values of {column}" in warning
        assert "other" in warning
        file = written(tmp_path / f"{column}.csv", mixed)
        assert main([str(file), "-o", str(tmp_path / "out.yaml")]) == 0
        assert f"warning: measured with 2 values of {column}" in capsys.readouterr().err


def test_the_committed_files_give_no_warning():
    assert differences(ROWS) == []


@pytest.mark.parametrize("make", [
    lambda path: path,  # not there
    lambda path: path.write_text("a,b\n1,2\n") and path,
    lambda path: written(path, [row for row in ROWS if row.text("experiment") != "gather"]),
    lambda path: written(path, [row for row in ROWS if row.text("experiment") != "clock"]),
    lambda path: written(path, [changed(row, time_us="soon") for row in ROWS]),
])
def test_files_that_do_not_serve_are_refused_in_one_line(tmp_path, capsys, make):
    file = make(tmp_path / "bad.csv")
    assert main([str(file), "-o", str(tmp_path / "out.yaml")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "bad.csv" in error
    assert not (tmp_path / "out.yaml").exists()


def test_registers_shared_memory_and_warps_limit_the_programs_of_a_multiprocessor():
    for registers, shared, warps, expected in (
        (32, 0, 4, 16),  # 64 warps
        (255, 0, 4, 2),  # 256 registers × 128 threads: two fill 65,536
        (32, 131072, 4, 1),  # 129 of 228 KiB
        (32, 0, 1, 32),  # 32 programs at most
    ):
        assert resident_programs(registers, shared, warps, (9, 0)) == expected


def test_lines_of_gathered_rows_are_counted_once_where_neighbours_share_them():
    gathers = [row for row in ROWS if row.text("experiment") == "gather"
               and row.text("row_bytes") == "64" and row.text("density") == "1.0"]
    lines = {(row.text("order"), row.text("row_stride_bytes")): launches(row)[0].gather_lines
             for row in gathers}
    rows = 2 * 2**30 / 64
    assert lines["shuffled", "64"] == lines["sorted", "512"] == pytest.approx(rows, rel=1e-12)
    assert lines["sorted", "64"] == pytest.approx(rows / 2, rel=1e-12)


@pytest.mark.parametrize(("value", "place", "shown"), [
    (4.6728e12, 9, "4.673e+12"), (0.92974, -4, "9.297e-01"), (2.0, 0, "2e+00"),
    (0.0, -3, "0.0"), (12.6, 1, "1e+01"),
])
def test_numbers_are_printed_to_the_place_of_their_error(value, place, shown):
    assert to_place(value, place) == shown
