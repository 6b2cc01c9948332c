from pathlib import Path

import pandas as pd
import pytest

from gpu_kernels.bench.equal_error import POINT, at_equal_error, main

MEASURED = Path(__file__).parents[2] / "gpu_kernels/measurements/h200/2026-12-01_decode.csv"


def rows(*entries):
    point = dict.fromkeys(POINT, 1) | {"inputs": "capture_t8"}
    names = ("kernel", "samples", "rel_error", "time_us")
    return pd.DataFrame([point | {"tile": 64, "trials": 0} | dict(zip(names, e, strict=True))
                         for e in entries])


def test_the_fastest_budget_within_the_limit_is_compared_with_the_fastest_dense_kernel():
    table = rows(("dense", 99, 1e-3, 12.0), ("sdpa_cudnn", 99, 1e-3, 10.0),
                 ("s2anta_comb", 8, 0.4, 4.0), ("s2anta_comb", 16, 0.2, 5.0),
                 ("s2anta_comb", 64, 0.1, 8.0), ("s2anta_flash", 64, 0.3, 6.0))
    found = at_equal_error(table, (0.25, 0.05)).set_index(["max_error", "kernel"])
    best = found.loc[(0.25, "s2anta_comb")]
    assert (best["samples"], best["time_us"], best["speedup"]) == (16, 5.0, 2.0)
    assert found.loc[[(0.25, "s2anta_flash"), (0.05, "s2anta_comb")], "time_us"].isna().all()


def test_a_point_with_one_budget_says_nothing_about_equal_errors():
    table = rows(("dense", 99, 1e-3, 12.0), ("s2anta_comb", 8, 0.4, 4.0))
    assert at_equal_error(table, (0.5,)).empty


def test_the_committed_run_compares_every_sampled_kernel_at_three_batches(capsys):
    assert main([str(MEASURED), "--errors", "0.3"]) == 0
    printed = capsys.readouterr().out
    found = at_equal_error(pd.read_csv(MEASURED), (0.3,))
    captured = found[(found["inputs"] == "capture_t8") & (found["context"] == 32768)
                     & (found["dtype"] == "bfloat16") & (found["num_qo_heads"] == 32)]
    assert set(captured["batch"]) == {1, 4, 16}
    assert {"s2anta_comb", "s2anta_flash", "s2anta_prop", "bernoulli_qk"} <= set(captured["kernel"])
    assert "s2anta_comb" in printed


@pytest.mark.parametrize("text", ["", "inputs,kernel\ncapture,dense\n", "a\n1\n"])
def test_a_file_that_is_no_measurement_is_refused_in_one_line(tmp_path, capsys, text):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    assert main([str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"{path}: ")
