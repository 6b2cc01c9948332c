from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw_models.catalogue import load_accelerator
from hw_models.gpu.calibration import load_calibration
from hw_models.gpu.datasheet import STRUCTURES, datasheet
from hw_models.gpu.launch import KernelLaunch
from hw_models.gpu.power import (
    LOWEST_CLOCK,
    PAGE_BYTES,
    Work,
    power_above_idle_w,
    repeated_s,
    steady,
    work_of,
)

FILE = Path(__file__).parents[3] / "gpu_kernels" / "calibrations" / "h200.yaml"
CALIBRATED = load_calibration(FILE)
DATASHEET = datasheet(load_accelerator("h200_sxm"))
BOTH = st.sampled_from([CALIBRATED, DATASHEET])
V = CALIBRATED.values()
FEW = KernelLaunch(32, 8, 4, stream_bytes=2**29, tiles_in_flight=1)
FULL = KernelLaunch(528, 8, 4, stream_bytes=2**31, tiles_in_flight=2)
BUSY = replace(FULL, issue_slots=3e5, tensor_flops=5e10, exponentials=1e8)
AMOUNTS = ("stream_bytes", "gather_bytes", "gather_rows", "l2_bytes", "written_bytes",
           "issue_slots", "tensor_flops", "exponentials")
LAUNCHES = st.builds(
    KernelLaunch, programs=st.integers(1, 20_000), resident=st.integers(1, 32),
    num_warps=st.integers(1, 8), stream_bytes=st.floats(0, 1e11), gather_bytes=st.floats(0, 1e11),
    gather_lines=st.floats(0, 1e9), gather_rows=st.floats(0, 1e9), l2_bytes=st.floats(0, 1e11),
    written_bytes=st.floats(0, 1e11), issue_slots=st.floats(0, 1e7),
    tensor_flops=st.floats(0, 1e15), exponentials=st.floats(0, 1e13),
)


def with_values(**values):
    parameters = {name: p.model_copy(update={"value": values.get(name, p.value)})
                  for name, p in CALIBRATED.parameters.items()}
    return CALIBRATED.model_copy(update={"parameters": parameters})


def test_a_load_below_the_limit_pays_idle_active_power_and_work_at_full_clock():
    load = steady(CALIBRATED, [FEW])
    assert load.clock == 1.0
    assert load.power_w < V["power_limit"]
    bits = 8 * 2**29
    slots = FEW.programs * FEW.issue_slots
    joules = 1e-12 * (bits * (V["memory_energy"] + V["l2_energy"])
                      + slots * V["instruction_energy"])
    assert load.energy_j == pytest.approx(
        (V["idle_power"] + V["active_power"]) * load.time_s + joules, rel=1e-14)


def test_each_level_and_operation_is_charged_its_own_figure():
    one = KernelLaunch(2, 1, 1)
    for amount, joules in (
        ("stream_bytes", 8e-12 * (V["memory_energy"] + V["l2_energy"])),
        ("written_bytes", 8e-12 * (V["memory_energy"] + V["l2_energy"])),
        ("l2_bytes", 8e-12 * V["l2_energy"]),
        ("issue_slots", 2e-12 * V["instruction_energy"]),  # per program, of two
        ("tensor_flops", 1e-12 * V["tensor_energy"]), ("exponentials", 1e-12 * V["exp_energy"]),
    ):
        work = work_of([replace(one, **{amount: 1e6})], V)
        assert work.memory_j + work.core_j == pytest.approx(1e6 * joules, rel=1e-14)


@pytest.mark.parametrize(("row_bytes", "pages"), [
    (PAGE_BYTES // 16, 15 / 16), (PAGE_BYTES // 4, 3 / 4), (PAGE_BYTES, 0), (4 * PAGE_BYTES, 0)])
def test_a_row_by_index_pays_for_the_part_of_its_page_that_a_long_run_would_share(row_bytes, pages):
    run = KernelLaunch(132, 8, 4, gather_bytes=1e3 * row_bytes)
    rows = replace(run, gather_rows=1e3)
    more = work_of([rows], V).memory_j - work_of([run], V).memory_j
    assert more == pytest.approx(1e-9 * pages * V["page_energy"], rel=1e-9, abs=1e-24)


@given(BOTH, LAUNCHES)
def test_power_times_time_is_energy_and_no_load_draws_more_than_the_limit(calibration, launch):
    load = steady(calibration, [launch])
    assert load.power_w <= calibration.values()["power_limit"] * (1 + 1e-9)
    assert load.power_w * load.time_s == pytest.approx(load.energy_j, rel=1e-12)
    assert LOWEST_CLOCK <= load.clock <= 1
    full = repeated_s([launch], calibration.multiprocessors, calibration.values())
    assert load.time_s >= full * (1 - 1e-12)


@given(BOTH, LAUNCHES, st.sampled_from(AMOUNTS), st.floats(0, 1e8))
def test_more_work_never_costs_less_at_one_clock(calibration, launch, amount, more):
    v = calibration.values()
    smaller = replace(launch, gather_bytes=0.0, gather_rows=0.0)
    larger = replace(smaller, **{amount: getattr(smaller, amount) + more})
    was, is_ = work_of([smaller], v), work_of([larger], v)
    assert is_.memory_j >= was.memory_j
    assert is_.core_j >= was.core_j


def test_at_the_limit_the_clock_falls_until_power_meets_it():
    load = steady(CALIBRATED, [BUSY])
    assert LOWEST_CLOCK < load.clock < 1
    assert load.power_w == pytest.approx(V["power_limit"], rel=1e-9)
    slower = repeated_s([BUSY], CALIBRATED.multiprocessors, V, load.clock)
    assert load.time_s == pytest.approx(slower, rel=1e-12)
    assert slower > repeated_s([BUSY], CALIBRATED.multiprocessors, V)


def test_a_lower_limit_lowers_clock_and_energy_of_the_work_and_lengthens_the_call():
    loads = [steady(with_values(power_limit=limit), [BUSY]) for limit in (700.0, 600.0, 500.0)]
    assert [x.clock for x in loads] == sorted((x.clock for x in loads), reverse=True)
    assert [x.time_s for x in loads] == sorted(x.time_s for x in loads)
    assert all(x.work == loads[0].work for x in loads)


def test_below_the_lowest_clock_a_load_waits():
    limit = V["idle_power"] + V["active_power"] + 20
    load = steady(with_values(power_limit=limit), [FULL])
    assert load.clock == LOWEST_CLOCK
    assert load.power_w == limit
    assert load.time_s > repeated_s([FULL], CALIBRATED.multiprocessors, V, LOWEST_CLOCK)


def test_energy_per_operation_falls_with_a_power_of_the_clock_and_that_of_memory_does_not():
    e = V["voltage_exponent"]
    core, memory = (power_above_idle_w(work, V, 1.0, 0.5) - power_above_idle_w(
        Work(0.0, 0.0), V, 1.0, 0.5) for work in (Work(0.0, 100.0), Work(100.0, 0.0)))
    assert core == pytest.approx(100 * 0.5**e, rel=1e-12)
    assert memory == pytest.approx(100, rel=1e-12)


def test_a_call_among_many_waits_for_the_one_before_and_reads_no_timer():
    alone = repeated_s([FULL], CALIBRATED.multiprocessors, V)
    serial = repeated_s([replace(FULL, start="serial")], CALIBRATED.multiprocessors, V)
    assert alone == serial


@pytest.mark.parametrize(("limit", "launches", "message"), [
    (140.0, [FEW], "leaves nothing"), (700.0, [], "at least one launch")])
def test_loads_that_mean_nothing_are_refused(limit, launches, message):
    with pytest.raises(ValueError, match=message):
        steady(with_values(power_limit=limit), launches)


@pytest.mark.parametrize("name", sorted(STRUCTURES))
def test_a_datasheet_charges_a_loaded_bit_what_the_catalogue_charges(name):
    accelerator = load_accelerator(name)
    v = datasheet(accelerator).values()
    assert v["memory_energy"] + v["l2_energy"] == pytest.approx(
        accelerator.memory.energy["board"].read.value, rel=1e-12)
