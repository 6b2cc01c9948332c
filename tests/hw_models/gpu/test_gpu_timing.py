from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw_models.catalogue import load_accelerator
from hw_models.gpu.calibration import load_calibration
from hw_models.gpu.datasheet import STRUCTURES, datasheet
from hw_models.gpu.launch import KernelLaunch
from hw_models.gpu.timing import GpuTiming, overlapped

CALIBRATIONS = Path(__file__).parents[3] / "gpu_kernels" / "calibrations"
CALIBRATED = load_calibration(CALIBRATIONS / "h200.yaml")
DATASHEET = datasheet(load_accelerator("h200_sxm"))
BOTH = st.sampled_from([CALIBRATED, DATASHEET])
AMOUNTS = ("stream_bytes", "gather_bytes", "gather_lines", "l2_bytes", "written_bytes",
           "issue_slots")
LAUNCHES = st.builds(
    KernelLaunch,
    programs=st.integers(1, 20_000), resident=st.integers(1, 32), num_warps=st.integers(1, 8),
    stream_bytes=st.floats(0, 1e11), gather_bytes=st.floats(0, 1e11),
    gather_lines=st.floats(0, 1e9), l2_bytes=st.floats(0, 1e11),
    written_bytes=st.floats(0, 1e11), tile_bytes=st.floats(256, 1e5),
    tiles_in_flight=st.integers(1, 5), issue_slots=st.floats(0, 1e7),
    dependent_reads=st.integers(0, 3),
    start=st.sampled_from(["alone", "serial", "dependent"]),
)
FULL = KernelLaunch(528, 8, 4, stream_bytes=2**29, tiles_in_flight=2)


def time_s(calibration, launch):
    return GpuTiming.of(calibration).launch(launch).time_s


@given(BOTH, LAUNCHES, st.sampled_from(AMOUNTS), st.floats(0, 1e10))
def test_more_work_never_takes_less_time(calibration, launch, amount, more):
    larger = replace(launch, **{amount: getattr(launch, amount) + more})
    # powers and roots of the overlap are right to a few units in the last place
    assert time_s(calibration, larger) >= time_s(calibration, launch) * (1 - 1e-13)


def test_bytes_from_memory_take_no_less_time_even_where_a_fit_says_that_l2_is_slower():
    values = CALIBRATED.values() | {"l2_tile_latency": 1e-5}
    from_l2 = KernelLaunch(132, 8, 4, l2_bytes=1e6)
    timing = GpuTiming(132, values)
    assert timing.launch(replace(from_l2, stream_bytes=1)).time_s >= timing.launch(from_l2).time_s


@given(BOTH, LAUNCHES)
def test_no_launch_beats_the_bandwidth_bound(calibration, launch):
    moved = launch.stream_bytes + launch.gather_bytes + launch.written_bytes
    bound = moved / calibration.parameters["read_bandwidth"].value
    assert time_s(calibration, launch) >= bound * (1 - 1e-13)


@given(BOTH, LAUNCHES)
def test_a_launch_takes_at_least_its_longest_resource_and_at_most_the_sum(calibration, launch):
    time = GpuTiming.of(calibration).launch(launch)
    assert max(time.busy_s.values()) * (1 - 1e-13) <= time.loop_s
    assert time.loop_s <= sum(time.busy_s.values()) * (1 + 1e-13)


@pytest.mark.parametrize("calibration", [CALIBRATED, DATASHEET])
def test_no_bandwidth_is_above_the_peak_of_the_catalogue(calibration):
    peak = load_accelerator("h200_sxm").memory.peak_bandwidth.value
    assert calibration.parameters["read_bandwidth"].high <= peak
    assert calibration.parameters["gather_efficiency"].value <= 1


def test_without_latencies_and_with_perfect_overlap_a_stream_takes_bytes_over_bandwidth():
    values = CALIBRATED.values() | dict.fromkeys(
        ("launch", "dispatch", "tile_latency", "l2_tile_latency", "ramp"), 0.0
    ) | {"multiprocessor_rate": 1e20, "overlap": 1e3}
    expected = 2**29 / values["read_bandwidth"]
    assert GpuTiming(132, values).launch(FULL).time_s == pytest.approx(expected, rel=1e-9)


def test_bytes_in_flight_over_latency_bound_a_lone_program():
    # Little's law: 16 KiB a latency cannot be beaten, whatever the bandwidth
    lone = KernelLaunch(1, 1, 4, stream_bytes=2**24)
    tiles = 2**24 / 16384
    assert time_s(CALIBRATED, lone) >= tiles * CALIBRATED.parameters["tile_latency"].value


def test_one_program_more_than_a_full_wave_adds_a_step_and_the_next_adds_none():
    busy = [GpuTiming.of(CALIBRATED).launch(KernelLaunch(n, 1, 4, issue_slots=1e5)).busy_s["issue"]
            for n in (131, 132, 133, 264, 265)]
    assert busy[0] == busy[1]
    assert busy[2] == busy[3] == pytest.approx(2 * busy[1], rel=1e-14)
    assert busy[4] == pytest.approx(3 * busy[1], rel=1e-14)


def test_twice_the_multiprocessors_halve_the_issue_time_of_many_full_waves():
    work = KernelLaunch(132 * 64, 4, 4, issue_slots=1e5)
    values = CALIBRATED.values()
    once, twice = (GpuTiming(n, values).launch(work).busy_s["issue"] for n in (132, 264))
    assert once == pytest.approx(2 * twice, rel=1e-14)


def test_small_rows_cost_their_lines():
    wide = replace(FULL, stream_bytes=0, gather_bytes=2**29, gather_lines=2**22)
    narrow = replace(wide, gather_lines=2**23)  # 64-byte rows: twice the lines for the same bytes
    assert time_s(CALIBRATED, narrow) > 1.2 * time_s(CALIBRATED, wide)


def test_an_overlapping_launch_starts_faster_than_one_that_waits():
    starts = {start: time_s(CALIBRATED, KernelLaunch(132, 8, 4, start=start))
              for start in ("alone", "serial", "dependent")}
    assert starts["dependent"] < starts["serial"] < starts["alone"]


def test_a_call_is_the_timer_and_its_launches():
    timing = GpuTiming.of(CALIBRATED)
    second = replace(FULL, start="serial")
    assert timing.call_s([]) == CALIBRATED.parameters["timer"].value
    assert timing.call_s([FULL, second]) == pytest.approx(
        timing.call_s([]) + timing.launch(FULL).time_s + timing.launch(second).time_s, rel=1e-14)


def test_an_empty_launch_is_bound_by_launching_and_a_long_stream_by_memory():
    timing = GpuTiming.of(CALIBRATED)
    assert timing.launch(KernelLaunch(1, 1, 1)).bound == "launch"
    assert timing.launch(FULL).bound == "memory"


@given(st.lists(st.floats(0, 1e3), max_size=5), st.floats(1, 50))
def test_overlap_lies_between_the_longest_and_the_sum(times, exponent):
    assert max(times, default=0.0) * (1 - 1e-13) <= overlapped(times, exponent)
    assert overlapped(times, exponent) <= sum(times) * (1 + 1e-13)


@pytest.mark.parametrize("change", [
    {"programs": 0}, {"resident": 0}, {"num_warps": 0}, {"tiles_in_flight": 0},
    {"stream_bytes": -1.0}, {"issue_slots": -1.0}, {"tensor_flops": -1.0},
    {"exponentials": -1.0}, {"gather_rows": -1.0}, {"dependent_reads": -1}, {"tile_bytes": 0.0},
])
def test_a_launch_refuses_impossible_work(change):
    with pytest.raises(ValueError, match=r"at least 1|not negative|above 0"):
        replace(FULL, **change)


@pytest.mark.parametrize("name", sorted(STRUCTURES))
def test_every_gpu_of_the_table_has_a_datasheet_that_times_a_stream(name):
    found = datasheet(load_accelerator(name))
    memory = load_accelerator(name).memory
    assert found.basis == "datasheet"
    assert found.measured is None
    assert time_s(found, FULL) > 2**29 / memory.peak_bandwidth.value
