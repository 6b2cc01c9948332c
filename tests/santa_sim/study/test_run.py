import numpy as np
import pandas as pd
import pytest

from hw_models.ledger import Tensor
from santa_sim.data.capture import load_capture
from santa_sim.methods import decode, method
from santa_sim.study import run, run_study, worker
from santa_sim.study.datasets import exact_output
from santa_sim.study.tables import RESULT_COLUMNS

DATASETS, METHODS, ACCELERATORS, SEEDS = 2, 4, 2, 3


@pytest.fixture
def result(small_study):
    return run_study(small_study, jobs=1)


def of(result, method_name, accelerator="h200_sxm", source="capture"):
    frame = result.frame
    (row,) = frame[
        (frame["method"] == method_name) & (frame["accelerator"] == accelerator)
        & frame["source"].str.startswith(source)
    ].to_dict("records")
    return row


def test_there_is_one_row_per_dataset_method_and_accelerator(result):
    assert tuple(result.frame.columns) == RESULT_COLUMNS
    assert len(result.frame) == DATASETS * METHODS * ACCELERATORS
    assert result.frame["point"].nunique() == DATASETS * METHODS
    assert (result.frame["status"] == "ok").all()
    assert result.failed == ()


def test_a_row_is_the_mean_over_steps_and_seeds_of_what_decode_returns(result):
    steps = load_capture("smollm2-135m").steps(traces=["t3"], steps=[0, 2])
    spec = method("s2anta_comb", samples=32)
    errors, v_bytes = [], []
    for seed in range(SEEDS):
        for step in steps:
            exact = exact_output(step)
            got = decode(spec, step.q, step.k, step.v, seq_lens=step.seq_lens,
                         sm_scale=step.sm_scale, seed=seed, step=step.step, layer=step.layer)
            norm = np.linalg.norm
            errors.append(np.mean(norm(got.out - exact, axis=-1) / norm(exact, axis=-1)))
            v_bytes.append(got.ledger.rounded_to(32).bytes("moved", tensor=Tensor.V))
    row = of(result, "s2anta_comb S=32 tile=64")
    assert row["rel_error"] == pytest.approx(np.mean(errors), rel=1e-12)
    assert abs(row["v_bytes"] - np.mean(v_bytes)) <= 128  # one segment of rounding
    assert row["rel_error_low"] < row["rel_error"] < row["rel_error_high"]
    assert row["seeds"] == SEEDS


def test_a_method_without_randomness_runs_once_and_has_no_error_but_rounding(result):
    row = of(result, "dense")
    assert row["seeds"] == 1
    assert row["rel_error_low"] == row["rel_error"] == row["rel_error_high"] < 1e-5
    # t3 has 2,048 rows of 64 fp16 numbers in 3 heads; steps 0 and 2 read 2,045 and 2,047 of them
    assert row["kv_cache_bytes"] == 2 * 2047 * 3 * 64 * 2


def test_a_machine_without_multipliers_refuses_exact_scores_and_runs_ternary_ones(result):
    dense = of(result, "dense", "edge_ternary_7nm_lpddr5")
    assert not dense["fits"]
    assert "multiply" in dense["misfit"]
    assert pd.isna(dense["time_s"])
    assert pd.isna(dense["multiplies"])
    free = of(result, "bernoulli_qk R=16 2^k + s2anta_comb S=64 tile=64",
              "edge_ternary_7nm_lpddr5")
    assert free["fits"]
    assert free["multiplies"] == 0 < free["adds"]
    assert free["board_energy_j"] > free["device_energy_j"] > 0


def test_counts_do_not_depend_on_the_accelerator(result):
    counted = ["rel_error", "k_bytes", "v_bytes", "q_out_bytes", "workspace_bytes", "moved_bytes"]
    assert len(result.frame[["point", *counted]].drop_duplicates()) == DATASETS * METHODS


def test_energy_parts_add_up_to_the_total(result):
    sums = result.tables.energy.groupby(["point", "accelerator", "account"])["nominal_j"].sum()
    frame = result.frame[result.frame["fits"]].set_index(["point", "accelerator"])
    for account in ("device", "board"):
        parts = sums.xs(account, level="account").reindex(frame.index)
        np.testing.assert_allclose(parts, frame[f"{account}_energy_j"], rtol=1e-12)


def test_streams_add_up_to_the_moved_bytes(result):
    streams = result.tables.streams
    main = streams[streams["level"] == "main"].groupby("point")["moved_bytes"]
    frame = result.frame.drop_duplicates("point").set_index("point")
    # each stream's mean over the runs is rounded to whole bytes by itself
    off = (main.sum().reindex(frame.index) - frame["moved_bytes"]).abs()
    assert (off <= main.size().reindex(frame.index)).all()


def test_dense_reads_the_mean_length_of_its_steps_and_no_more(result):
    row = of(result, "dense")
    # steps 0 and 2 of t3 read 2,045 and 2,047 rows of 64 fp16 numbers in 3 heads
    assert row["k_bytes"] == row["v_bytes"] == 2046 * 3 * 64 * 2


@pytest.mark.parametrize(
    ("engine", "jobs"),
    [("serial", 1), ("threads", 2), ("threads", 4), ("processes", 1), ("processes", 2),
     ("processes", 4), ("dask", 2)],
)
def test_results_depend_on_neither_engine_nor_workers(result, small_study, engine, jobs):
    if engine == "dask":
        pytest.importorskip("distributed")
    again = run_study(small_study, engine=engine, jobs=jobs)
    for name in ("points", "operations", "streams", "energy", "constants"):
        pd.testing.assert_frame_equal(
            getattr(result.tables, name), getattr(again.tables, name), check_exact=True
        )


def test_the_expected_level_gives_counts_near_the_sampled_ones_and_no_error(result, small_study):
    expected = run_study(small_study, ["level=expected"])
    assert expected.frame["rel_error"].isna().all()
    both = expected.frame["moved_bytes"] / result.frame["moved_bytes"]
    # three seeds: unions of a few dozen rows scatter by some percent of the V bytes
    assert both.between(0.93, 1.07).all()


def test_one_impossible_point_costs_no_other(small_study, monkeypatch):
    real = worker.run_sampled

    def failing(spec, *rest):
        if spec.name == "dense":
            raise OverflowError("count must be within 0..2^63-1, got 9e99")
        return real(spec, *rest)

    monkeypatch.setattr(worker, "run_sampled", failing)
    result = run_study(small_study)
    bad = result.frame["status"] == "failed"
    assert (result.frame.loc[bad, "method"] == "dense").all()
    assert bad.sum() == DATASETS * ACCELERATORS
    assert len(result.failed) == DATASETS
    assert "dense on smollm2-135m t3 failed: count must be" in result.failed[0]
    assert result.frame.loc[~bad, "time_s"].notna().any()


def test_progress_counts_every_point(small_study):
    seen = []
    run_study(small_study, jobs=2, progress=seen.append)
    assert [(s.done, s.total) for s in seen] == [
        (i, DATASETS * METHODS) for i in range(DATASETS * METHODS + 1)
    ]
    shares = [step.share for step in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, pytest.approx(1.0))


def test_simulated_heads_stand_for_the_others(small_study):
    text = ["data=[{kind: synthetic, geometry: llama-3.1-8b, law: {kind: zipf}, context: 64, "
            "effective_support: 9, simulated_kv_heads: 2}]", "methods=[{name: dense}]"]
    frame = run_study(small_study, text).frame
    row = frame[frame["accelerator"] == "h200_sxm"].iloc[0]
    assert (row["num_qo_heads"], row["num_kv_heads"]) == (32, 8)
    assert row["k_bytes"] == row["v_bytes"] == 64 * 8 * 128 * 2


def test_a_cost_that_is_not_finite_fails_on_that_machine_only(small_study, monkeypatch):
    real = run.evaluate

    def extreme(ledger, accelerator):
        if accelerator.name == "h200_sxm":
            raise ValueError("an interval must be finite")
        return real(ledger, accelerator)

    monkeypatch.setattr(run, "evaluate", extreme)
    frame = run_study(small_study).frame
    assert set(frame.loc[frame["status"] == "failed", "accelerator"]) == {"h200_sxm"}
    assert (frame["status"] == "failed").sum() == DATASETS * METHODS


def test_data_that_memory_cannot_hold_are_a_fault_of_the_entry(small_study):
    text = ["data[1].context=16777216", "data[1].batch=4096", "data[1].geometry=llama-3.1-70b"]
    with pytest.raises(ValueError, match=r"data\[1\]: .* zipf support=40 cannot be made: "):
        run_study(small_study, text)
