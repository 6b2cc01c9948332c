import json
from pathlib import Path

import numpy as np
import pytest

from gpu_kernels.calibration.parts import CHECKED, FITTED
from gpu_kernels.calibration.rows import Row, read_rows
from gpu_kernels.launches.bench_calls import row_call
from gpu_kernels.launches.expected_rows import CAPTURE
from gpu_kernels.launches.priced import call_launches
from gpu_kernels.split_plan import OFFLINE_LIMITS
from gpu_kernels.validate import main
from gpu_kernels.validation.committed import CALIBRATED
from gpu_kernels.validation.energies import compare_energies
from gpu_kernels.validation.summary import summarise
from gpu_kernels.validation.times import BENCH_COLUMNS
from hw_models.gpu.calibration import load_calibration

ROOT = Path(__file__).parents[2]
H200 = CALIBRATED["h200_sxm"]
CALIBRATION = load_calibration(H200.calibration)
ROWS = read_rows([H200.energy], BENCH_COLUMNS, "bench")
POINTS = compare_energies(ROWS, CALIBRATION, ROOT / CAPTURE)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def changed(row, **cells):
    return Row(row.cells | {name: str(value) for name, value in cells.items()}, row.file, row.line)


def test_the_command_reports_the_energies_of_every_kernel_of_ours(capsys):
    ours = [row for row in ROWS if row.text("l2") == "steady"
            and not row.text("kernel").startswith(("sdpa", "flashinfer"))]
    assert len(POINTS) == len(ours) > 20
    assert main(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)["energy"]
    assert found == summarise([point.error for point in POINTS]).as_json()
    assert main([]) == 0
    worst = max(POINTS, key=lambda point: abs(point.error))
    assert f"{worst.measured_j * 1e3:.1f} mJ" in capsys.readouterr().out


def test_no_energy_of_attention_is_fitted_on():
    assert not [row for row in ROWS for part in (*FITTED, *CHECKED) if part.takes(row)]


def test_shuffled_energies_explode_the_error():
    predicted = [point.load.energy_j for point in POINTS]
    # one fixed order; energies span a factor of 80
    others = np.random.default_rng(0).permutation(predicted)
    right = summarise([point.error for point in POINTS])
    wrong = summarise([p / point.measured_j - 1 for p, point in zip(others, POINTS, strict=True)])
    assert wrong.median > 5 * right.median
    assert wrong.max > 5 * right.max


def test_at_the_measured_time_and_clock_only_the_energies_of_the_model_are_left():
    for point in POINTS:
        exact = changed(point.row, time_us=point.load.time_s * 1e6,
                        running_sm_clock_mhz=CALIBRATION.values()["clock"] * point.load.clock / 1e6)
        (again,) = compare_energies([exact], CALIBRATION, ROOT / CAPTURE)
        assert again.at_measured_j == pytest.approx(point.load.energy_j, rel=1e-12)


@pytest.mark.parametrize("cells", [{"l2": "cold"}, {"kernel": "sdpa_cudnn"},
                                   {"energy_counter_mj": "", "energy_integral_mj": ""}])
def test_rows_without_energy_of_a_kernel_of_ours_are_left_out(cells):
    row = next(row for row in ROWS if row.text("l2") == "steady" and row.text("kernel") == "dense")
    assert compare_energies([changed(row, **cells)], CALIBRATION, ROOT / CAPTURE) == []


def test_where_the_counter_is_blank_the_integral_of_power_serves():
    row = POINTS[0].row
    (found,) = compare_energies([changed(row, energy_counter_mj="", energy_integral_mj="12.5")],
                              CALIBRATION, ROOT / CAPTURE)
    assert found.measured_j == 0.0125


@pytest.mark.parametrize(("kernel", "products"), [("dense", 2), ("s2anta_flash", 1),
                                                  ("s2anta_comb", 1)])
def test_products_that_cost_energy_are_those_of_queries_and_not_of_padding(kernel, products):
    # machine code against the definition, 2·H·n·d flops per product with all keys or all values;
    # in the pass that reads the keys, which is the first one
    for row in ROWS:
        if row.text("kernel") != kernel:
            continue
        call = row_call(row, CAPTURE)
        reading, *_ = call_launches(call, OFFLINE_LIMITS[9, 0], CALIBRATION.values()["l2_capacity"])
        flops = 2 * call.heads * call.sizes.context * call.sizes.head_dim
        assert reading.tensor_flops == products * flops
