from pathlib import Path

import pytest

from hw_models.catalogue import load_accelerator
from hw_models.gpu.calibration import load_calibration
from hw_models.gpu.datasheet import datasheet
from hw_models.gpu.parameters import PARAMETERS
from hw_models.problems import SpecError

FILE = Path(__file__).parents[3] / "gpu_kernels" / "calibrations" / "h200.yaml"


def edited(tmp_path, old, new):
    text = FILE.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "edited.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_the_committed_calibration_names_its_measurements_and_has_every_parameter():
    found = load_calibration(FILE)
    assert found.basis == "microbenchmarks"
    assert found.measured is not None
    assert set(found.parameters) == set(PARAMETERS)
    assert found.fitted
    assert found.held_out


def test_datasheet_and_calibration_are_of_one_type_with_one_set_of_parameters():
    sheet, fitted = datasheet(load_accelerator("h200_sxm")), load_calibration(FILE)
    assert type(sheet) is type(fitted)
    assert {name: p.unit for name, p in sheet.parameters.items()} == {
        name: p.unit for name, p in fitted.parameters.items()}


@pytest.mark.parametrize(("old", "new", "message"), [
    ('unit: "Hz"', 'unit: "MHz"', "clock: unit must be 'Hz', got 'MHz'"),
    ("  ramp:", "  ramps:", "no parameter 'ramps'; did you mean 'ramp'?"),
    ("value: 1.9797e+09", "value: 2.5e+09", "needs low <= value <= high"),
    ("multiprocessors: 132", "multiprocessors: 0", "multiprocessors"),
    ("basis: microbenchmarks", "basis: guesses", "basis"),
])
def test_a_wrong_calibration_is_refused_with_the_file_and_what_is_wrong(
    tmp_path, old, new, message
):
    path = edited(tmp_path, old, new)
    with pytest.raises(SpecError) as caught:
        load_calibration(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_machine_that_is_no_gpu_has_no_datasheet_and_the_nearest_names_are_given():
    with pytest.raises(SpecError, match=r"no datasheet of a GPU 'tpu_v4i'.*h200_sxm"):
        datasheet(load_accelerator("tpu_v4i"))
