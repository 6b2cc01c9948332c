import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from small_pipelines import cases, machine, two_passes

from hw_models.pipeline import power_curve, simulate, write_trace

ITEMS = [(20, 700, 100, 5, 40), (3, 10, 500, 9, 300), (40, 100, 0, 0, 0), (11, 900, 30, 7, 900)]


@pytest.fixture
def report():
    return simulate(two_passes(ITEMS), machine())


@pytest.fixture
def trace(report, tmp_path):
    energies = np.arange(len(report.schedule.steps)) * 1e-12
    power = power_curve(report.timeline, energies, 0.5, 10)
    file = tmp_path / "trace.json"
    write_trace({"first": (report, power), "second": (report, None)}, file)
    return json.loads(file.read_text(encoding="utf-8"))


def of(trace, phase, pid=1):
    return [e for e in trace["traceEvents"] if e["ph"] == phase and e["pid"] == pid]


def test_a_trace_holds_the_keys_that_the_trace_event_format_asks_for(trace):
    assert set(trace) == {"displayTimeUnit", "traceEvents"}
    wanted = {"M": {"name", "pid", "tid", "args"}, "C": {"name", "pid", "ts", "args"},
              "X": {"name", "pid", "tid", "ts", "dur", "args"}}
    for event in trace["traceEvents"]:
        assert set(event) == wanted[event["ph"]] | {"ph"}
    assert {e["pid"] for e in trace["traceEvents"]} == {1, 2}
    names = [e["args"]["name"] for e in of(trace, "M") if e["name"] == "process_name"]
    assert names == ["first"]


def test_each_slot_is_a_track_whose_slices_do_not_overlap(trace, report):
    threads = {e["tid"]: e["args"]["name"] for e in of(trace, "M") if e["name"] == "thread_name"}
    assert list(threads.values()) == ["fetch 0", "fetch 1", "array", "scan", "gather 0",
                                      "gather 1", "add"]
    slices = {}
    for event in of(trace, "X"):
        slices.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    assert set(slices) <= set(threads)
    assert sum(map(len, slices.values())) == len(report.schedule.steps)
    for own in slices.values():
        # microseconds with picoseconds as decimals: sums of two are a rounding off
        assert all(b[0] >= a[1] - 1e-9 for a, b in pairwise(sorted(own)))


def test_slices_are_the_steps_in_microseconds(trace, report):
    for step, start, end, event in zip(
        report.schedule.steps, report.timeline.start, report.timeline.end, of(trace, "X"),
        strict=True,
    ):
        assert event["name"] == step.label
        assert event["ts"] == pytest.approx(start * 1e-6, abs=1e-12)
        assert event["dur"] == pytest.approx((end - start) * 1e-6, abs=1e-12)
        assert event["args"].get("bytes") == (step.transfer.bytes if step.transfer else None)


def test_counters_show_buffers_and_power(trace, report):
    counters = of(trace, "C")
    buffers = [e["args"]["bytes"] for e in counters if e["name"] == "buffers (bytes)"]
    assert (max(buffers), buffers[-1]) == (report.sram_high_bytes, 0)
    assert len([e for e in counters if e["name"] == "power (W)"]) == 10
    assert not [e for e in of(trace, "C", 2) if e["name"] == "power (W)"]


@settings(max_examples=25)
@given(cases())
def test_power_integrates_to_the_energy_of_the_steps_and_of_standby(case):
    report = simulate(*case)
    joules = np.linspace(0, 3e-9, len(report.schedule.steps))
    for bins in (1, 7, 300):
        curve = power_curve(report.timeline, joules, 0.25, bins)
        total = joules.sum() + 0.25 * report.time_s
        assert curve.energy_j == pytest.approx(total, rel=1e-9)
        assert curve.edges_s[-1] == pytest.approx(report.time_s)


def test_power_is_that_of_the_steps_that_run():
    report = simulate(two_passes([(10, 1000, 0, 0, 0)]), machine())
    joules = np.array([0.0, 1e-6, 0.0])
    curve = power_curve(report.timeline, joules, 1.0, 50)
    start, end = report.timeline.start[1] * 1e-12, report.timeline.end[1] * 1e-12
    inside = (curve.edges_s[:-1] >= start) & (curve.edges_s[1:] <= end)
    assert inside.sum() > 10
    assert curve.power_w[inside] == pytest.approx(1.0 + 1e-6 / (end - start), rel=1e-9)
    outside = (curve.edges_s[1:] <= start) | (curve.edges_s[:-1] >= end)
    assert curve.power_w[outside] == pytest.approx(1.0, rel=1e-9)


def test_power_needs_time():
    report = simulate(two_passes([(1, 0, 0, 0, 0)]), machine())
    with pytest.raises(ValueError, match="at least one part"):
        power_curve(report.timeline, np.zeros(3), 0.0, 0)
