import re
from pathlib import Path

import numpy as np
import pytest
from tiny_dram import address, tiny

from hw_models.dram import (
    Policy,
    burst_addresses,
    dram_names,
    load_dram,
    make_requests,
    simulate,
)
from hw_models.dram.commands import Command
from hw_models.dram.memory_spec import PRESETS
from hw_models.problems import SpecError
from hw_models.quantity import Interval

PARTS = ["gddr6_14000", "hbm2e_3200", "hbm3_6400", "hbm3e_6400", "lpddr5_6400", "ddr5_4800"]


def stream(spec, per_channel=4000):
    return make_requests(
        np.arange(per_channel * spec.organisation.channels) * spec.organisation.burst_bytes
    )


def scattered(spec, per_channel=3000, seed=0):
    shape = spec.organisation
    rng = np.random.default_rng(seed)
    bursts = shape.capacity_bytes // shape.burst_bytes
    return make_requests(rng.integers(0, bursts, per_channel * shape.channels) * shape.burst_bytes)


@pytest.mark.parametrize("name", PARTS)
def test_streaming_reads_reach_92_percent_of_peak(name):
    spec = load_dram(name)
    report = simulate(spec, stream(spec))
    assert 0.92 * spec.peak_bytes_per_s <= report.bandwidth_bytes_per_s <= spec.peak_bytes_per_s


@pytest.mark.parametrize("name", PARTS)
def test_random_reads_fall_to_the_bound_that_activations_set(name):
    # one activation per burst: every tRRD_S, four per tFAW, one per tRC and bank
    spec = load_dram(name)
    t, shape = spec.timing, spec.organisation
    gap = max(t.tRRD_S, t.tFAW / 4, t.tRC / shape.banks)
    bound = shape.channels * shape.burst_bytes / (gap * t.tCK_ps * 1e-12)
    reached = simulate(spec, scattered(spec)).bandwidth_bytes_per_s
    # the last of many channels ends a few percent after the mean one
    assert 0.88 * bound <= reached <= bound * (1 + 1e-3)


@pytest.mark.parametrize(
    ("name", "queue", "gb_per_s"),
    # DRAMsim3's random generator on its own presets; the queue stands for its two levels of queues
    [("dramsim3_hbm2_8gb_x128", 48, 61.0), ("dramsim3_ddr4_8gb_x8_3200", 80, 18.7),
     ("dramsim3_gddr6_8gb_x16", 32, 29.0)],
)
def test_random_traffic_is_as_fast_as_in_another_simulator(name, queue, gb_per_s):
    spec = load_dram(name)
    trace = scattered(spec, 60_000 // spec.organisation.channels)
    trace["is_write"] = np.random.default_rng(1).random(len(trace)) < 1 / 3
    report = simulate(spec, trace, policy=Policy(requests_per_cycle=1), queue=queue)
    assert report.bandwidth_bytes_per_s / 1e9 == pytest.approx(gb_per_s, rel=0.03)


def test_the_names_are_those_of_the_files_and_each_has_a_source():
    assert set(PARTS) < set(dram_names())
    for name in dram_names():
        spec = load_dram(name)
        for part in (spec.timing, spec.refresh, *(constant for _, constant in spec.energy)):
            assert len(part.source) > 10


def test_facts_behind_the_energies_are_in_the_table_of_facts():
    table = (PRESETS.parents[1] / "facts" / "energy_facts.csv").read_text(encoding="utf-8")
    known = {line.split(",")[0] for line in table.splitlines()}
    for name in dram_names():
        for _, constant in load_dram(name).energy:
            assert set(constant.facts) <= known


@pytest.mark.parametrize(
    ("name", "bytes_used", "pj_per_bit"),
    # Ayna's HBM3E: 1716 pJ per activation, 1090 per 32 B; O'Connor's HBM2: 909, 2.24 + 0.30 pJ/bit
    [("hbm3e_6400", 32, 10.96), ("hbm3e_6400", 64, 7.61), ("hbm3e_6400", 256, 5.09),
     ("hbm3e_6400", 1024, 4.47), ("hbm2e_3200", 32, 6.09), ("hbm2e_3200", 1024, 2.65)],
)
def test_energy_per_bit_follows_the_bytes_used_per_activation(name, bytes_used, pj_per_bit):
    spec = load_dram(name)
    # aligned pieces of rows, each in a row of its own, so that each costs one activation;
    # few of them, so that no refresh closes a row in between
    shape = spec.organisation
    column = [bit for low, high in spec.mapping.column for bit in range(low, high + 1)]
    bursts = np.arange(bytes_used // shape.burst_bytes)
    offset = sum((bursts >> i & 1) << bit for i, bit in enumerate(column))
    start = (1 << spec.mapping.row[0][0]) * np.arange(5)
    report = simulate(spec, make_requests((start[:, None] + offset).ravel()))
    assert report.channels.total.activations == 5
    energy = report.energy
    used = energy.activate_j.nominal + energy.read_j.nominal + energy.io_j.nominal
    # the table is printed to two digits after the point, some of them cut off
    assert used / (5 * 8 * bytes_used) * 1e12 == pytest.approx(pj_per_bit, abs=0.01)


def test_energy_is_the_integral_over_the_recorded_commands():
    spec = tiny()
    trace = make_requests([address(spec, b, r) for b in range(4) for r in range(9)], 0, [True] * 36)
    report = simulate(spec, trace, record_commands=True)
    cost, commands = spec.energy, report.commands[0]
    power_w = np.full(report.channels.cycles, cost.precharged.value)
    is_open = np.zeros((4, report.channels.cycles), bool)
    joules = 0.0
    for cycle, kind, bank, _, _ in commands.tolist():
        if kind == Command.ACTIVATE:
            is_open[bank, cycle:] = True
            joules += cost.activation.value * 1e-12
        elif kind == Command.PRECHARGE:
            is_open[bank, cycle:] = False
        elif kind == Command.WRITE:
            joules += (cost.write.value + cost.io.value) * 32 * 8 * 1e-12
        elif kind == Command.REFRESH:
            joules += cost.refresh.value * 1e-12
    power_w[is_open.any(axis=0)] = cost.active.value
    joules += power_w.sum() * spec.timing.tCK_ps * 1e-12
    total = report.energy.total_j
    assert total.nominal == pytest.approx(joules, rel=1e-12)
    assert isinstance(total, Interval)
    assert total.low < total.nominal < total.high


def test_statistics_of_channels_sum_to_the_total():
    spec = load_dram("gddr6_14000")
    report = simulate(spec, scattered(spec, 500))
    parts = [report.channels.of(c) for c in range(spec.organisation.channels)]
    total = report.channels.total
    for field in ("requests", "read_bytes", "row_misses", "activations", "refreshes",
                  "occupancy_cycles", "latency_cycles", "active_cycles"):
        assert sum(int(getattr(part, field)[0]) for part in parts) == getattr(total, field)[0]
    assert sum(p.bandwidth_bytes_per_s[0] for p in parts) == pytest.approx(
        report.bandwidth_bytes_per_s
    )
    assert np.array_equal(sum(p.latency_histogram[0] for p in parts), total.latency_histogram[0])
    latency = report.done_cycle  # all arrive at cycle 0
    assert total.latency_cycles[0] == latency.sum()
    assert total.max_latency_cycles[0] == latency.max()
    bins = np.bincount([int(cycles).bit_length() for cycles in latency])
    assert np.array_equal(np.trim_zeros(total.latency_histogram[0], "b"), bins)


def test_queue_occupancy_is_the_mean_over_cycles_of_requests_in_the_queue():
    spec = tiny(tREFI=100_000)
    report = simulate(spec, make_requests([0, 0, 0], [0, 0, 40]))
    # bursts start at 11, 15 and 40, and their slots are free in the next cycle: 12 + 16 + 1
    assert report.channels.mean_queue_occupancy[0] == (12 + 16 + 1) / report.channels.cycles


def test_a_constant_that_grows_never_makes_a_stream_of_row_misses_faster():
    rng = np.random.default_rng(5)
    slow = {"tRCD_RD": 20, "tRP": 20, "tRC": 60, "tRRD_S": 9, "tFAW": 60, "tBL": 5}
    where = rng.integers(0, (4, 16), (400, 2))
    for name, cycles in slow.items():
        times = []
        for timing in ({}, {name: cycles, **({"tRRD_L": 9} if name == "tRRD_S" else {})}):
            spec = tiny(timing=timing)
            at = [address(spec, bank, row) for bank, row in where]
            times.append(simulate(spec, make_requests(at)).time_s)
        assert times[0] < times[1]


def test_more_channels_and_longer_queues_serve_scattered_reads_sooner():
    spec = load_dram("lpddr5_6400")
    trace = scattered(spec, 500)
    by_queue = [simulate(spec, trace, queue=queue).time_s for queue in (1, 4, 16, 64)]
    assert by_queue == sorted(by_queue, reverse=True)


def test_one_trace_gives_one_timeline():
    spec = load_dram("hbm3e_6400")
    trace = scattered(spec, 50)
    first, second = (simulate(spec, trace).done_cycle for _ in range(2))
    assert np.array_equal(first, second)


def test_segments_become_the_bursts_that_they_touch():
    assert burst_addresses([0, 100, 64], 64, 32).tolist() == [0, 32, 96, 128, 160, 64, 96]


def test_no_requests_take_no_time_and_no_energy():
    report = simulate(tiny(), make_requests([]))
    assert (report.time_s, report.energy.total_j.high, report.bandwidth_bytes_per_s) == (0, 0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("tRC: 72", "tRC: 44"), "tRAS (45) is longer than tRC (44): a row cannot open again before"
                                 " it closes; the smallest tRC that works is 45"),
        (("tCCD_L: 4", "tCCD_L: 1"), "the smallest tCCD_L that works is 2"),
        (("tREFI: 6240", "tREFI: 5000"), "the smallest value that works is 5537"),
        (("channels: 32", "channels: 24"), "must be a power of two, since address bits select it; "
                                           "got 24, nearest: 16 or 32"),
        (("row: [[19, 32]]", "row: [[18, 31]]"), "row: bit 18 also belongs to bank"),
        (("row: [[19, 32]]", "row: [[20, 33]]"), "mapping: bit 19 belongs to no field"),
        (("row: [[19, 32]]", "row: [[19, 31]]"), "row: has 13 bits, but the organisation needs 14"),
        (("bank: [[17, 18]]", "bank: [[18, 17]]"), "a range of bits is [lowest, highest]"),
        (("row_bytes: 1024", "row_bytes: 16"), "the smallest value that works is 32"),
        (("tRTW: 20", "tRTV: 20"), "did you mean 'tRTW'?"),
        (("unit: pJ/refresh", "unit: J"), "unit must be 'pJ/refresh', got 'J'"),
        (("scope: per_bank", "scope: per_row"), "did you mean 'per_bank'?"),
    ],
)
def test_a_memory_that_cannot_work_is_refused_with_its_place_and_what_works(
    tmp_path, change, message
):
    file = Path(tmp_path / "memory.yaml")
    text = (PRESETS / "hbm3_6400.yaml").read_text(encoding="utf-8")
    assert change[0] in text
    file.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(SpecError, match=re.escape(message)) as fault:
        load_dram(file)
    assert re.search(r"memory\.yaml:\d+: ", str(fault.value))


def test_an_unknown_memory_names_the_nearest():
    with pytest.raises(SpecError, match="no memory 'hbm3_640'; did you mean 'hbm3_6400'"):
        load_dram("hbm3_640")


@pytest.mark.parametrize("queue", [0, -3, True, 2.0, 5000])
def test_a_queue_that_cannot_work_is_refused(queue):
    with pytest.raises(SpecError, match=r"queue: .*(smallest value that works is 1|whole|at most)"):
        simulate(tiny(), make_requests([0]), queue=queue)


@pytest.mark.parametrize(
    "options", [{"starvation_cap": 0}, {"page": "opened"}, {"requests_per_cycle": 0}]
)
def test_a_policy_that_cannot_work_is_refused(options):
    with pytest.raises(SpecError, match=r"smallest value that works is 1|did you mean 'open'"):
        Policy(**options)


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        (make_requests([0, 1 << 40]), "requests[1].address: address 1099511627776 is outside"),
        (make_requests([-1]), "requests[0].address: address -1 is outside the memory's 0 .. 8191"),
        (make_requests([0, 0], [5, 4]), "requests[1].arrival_cycle: arrives at cycle 4; it"),
        (make_requests([0], [-1]), "requests[0].arrival_cycle: arrives at cycle -1"),
        (make_requests([[0]]), "requests must have one dimension, got 2"),
        (np.zeros(1, [("arrival_cycle", int), ("address", float), ("is_write", bool)]),
         "requests.address: must be whole numbers, got float64"),
        (np.zeros(3), "requests lack the field arrival_cycle"),
    ],
)
def test_requests_that_cannot_be_are_refused(requests, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        simulate(tiny(), requests)
