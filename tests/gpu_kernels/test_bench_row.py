"""Measurement files with something wrong in them: one line, naming file, line, column and value."""

import csv
from pathlib import Path

import pytest

from gpu_kernels.validate import main

MEASURED = Path(__file__).parents[2] / "gpu_kernels/measurements/h200/2026-12-01_decode.csv"


def changed(tmp_path, of="s2anta_comb", **cells):
    """Return a file of the header and one measured row of kernel `of` with other cells."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        row = next(r for r in rows if r["kernel"] == of)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row | cells)
    return path


def refused(capsys, *arguments):
    assert main([*map(str, arguments), "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [("kernel", "s2anta_com", "s2anta_comb"), ("batch", "nan", "nan"), ("batch", "0", "0"),
     ("context", "1e30", "1e30"), ("context", "-1", "-1"), ("num_kv_heads", "0", "0"),
     ("num_kv_heads", "7", "multiple of num_kv_heads, got 32 and 7"), ("head_dim", "7", "7"),
     ("samples", "-5", "-5"), ("dtype", "float99", "float16"), ("kv_layout", "XYZ", "NHD"),
     ("l2", "lukewarm", "warm"), ("time_us", "0", "0"), ("time_us", "nan", "nan"),
     ("time_us", "-5", "-5"), ("time_us", "inf", "inf"), ("inputs", "foo", "foo")],
)
def test_a_cell_that_cannot_be_is_refused_where_it_stands(tmp_path, capsys, column, value, says):
    path = changed(tmp_path, **{column: value})
    said = refused(capsys, path)
    assert said.startswith(f"{path}:2: ")
    assert says in said
    assert column in said


def test_a_row_cut_short_is_refused(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_bytes(MEASURED.read_bytes()[:3000])
    assert "does not have the header's" in refused(capsys, path)


def test_a_file_given_twice_counts_nothing(tmp_path, capsys):
    path = changed(tmp_path)
    assert "is given 2 times" in refused(capsys, path, path)


@pytest.mark.parametrize("capture", ["none.npz", "tests", "README.md"])
def test_a_capture_that_is_none_is_refused(tmp_path, capsys, capture):
    path = changed(tmp_path, inputs="capture_t8")
    assert capture in refused(capsys, path, "--capture", Path(__file__).parents[2] / capture)


def test_a_trace_that_is_not_there_is_named_beside_those_that_are(tmp_path, capsys):
    path = changed(tmp_path, inputs="capture_zz")
    said = refused(capsys, path)
    assert "has no trace 'zz'" in said
    assert "t8" in said
