import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_dram import memories, tiny, traces

from hw_models.dram import Policy, load_dram, make_requests, simulate
from hw_models.dram.copies import side_by_side
from hw_models.dram.memory_spec import faults
from hw_models.dram.session import FIRST_ROOM, DramSession
from hw_models.problems import SpecError


@st.composite
def cases(draw):
    spec = draw(memories())
    trace = draw(traces(spec))
    policy = Policy(page=draw(st.sampled_from(["open", "closed"])),
                    starvation_cap=draw(st.sampled_from([1, 3, 256])))
    return spec, trace, policy, draw(st.sampled_from([1, 2, 5, 64])), draw(st.integers(1, 90))


def served(session, trace, stride):
    """Submit each request as a transfer of its own, decide every `stride` cycles."""
    done = {}
    decided = 0
    for request in trace:
        cycle = int(request["arrival_cycle"])
        while decided + stride <= cycle:
            decided += stride
            done.update(session.advance(decided))
        session.submit(cycle, np.array([request["address"]]), bool(request["is_write"]))
    while session.pending:
        decided += stride
        done.update(session.advance(decided))
    return done


@given(cases())
def test_transfers_one_by_one_end_like_requests_all_at_once(case):
    spec, trace, policy, queue, stride = case
    whole = simulate(spec, trace, policy=policy, queue=queue)
    session = DramSession(spec, policy, queue)
    done = served(session, trace, stride)
    assert [done[i] for i in range(len(trace))] == whole.done_cycle.tolist()
    # refresh goes on while the session looks for the end, so compare at one later cycle
    end = max(whole.channels.cycles, max(whole.done_cycle)) + stride
    counts, energy = session.close(end)
    for name in ("reads", "writes", "row_hits", "row_conflicts", "latency_cycles", "activations"):
        assert np.array_equal(getattr(counts, name), getattr(whole.channels, name)), name
    assert energy.read_j == whole.energy.read_j


def test_a_long_session_forgets_what_it_has_served_and_grows_for_what_it_has_not():
    spec = load_dram("lpddr5_6400")
    rng = np.random.default_rng(3)
    address = rng.integers(0, 1 << 20, 60_000) * 32
    arrival = np.repeat(np.arange(200) * 400, 300)
    session = DramSession(spec)
    done = []
    for i in range(200):
        session.submit(400 * i, address[300 * i : 300 * (i + 1)])
        done += session.advance(400 * (i + 1))
    assert session._capacity == FIRST_ROOM
    session.submit(80_000, np.arange(5 * FIRST_ROOM) * 128)  # a burst of each second row: skewed
    assert session._capacity > FIRST_ROOM
    decided = 80_000
    while session.pending:
        decided += 1000
        done += session.advance(decided)
    trace = make_requests(
        np.concatenate([address, np.arange(5 * FIRST_ROOM) * 128]),
        np.concatenate([arrival, np.full(5 * FIRST_ROOM, 80_000)]),
    )
    last = np.maximum.reduceat(simulate(spec, trace).done_cycle, [*range(0, 60_000, 300), 60_000])
    assert sorted(done) == list(enumerate(last.tolist()))


def test_a_session_refuses_the_past_and_what_is_no_transfer():
    session = DramSession(tiny())
    session.submit(10, np.array([0]))
    for cycle, address in ((9, [0]), (10, []), (10, [-1]), (10, [1 << 20])):
        with pytest.raises(ValueError, match=r"over|bursts within"):
            session.submit(cycle, np.array(address, np.int64))
    with pytest.raises(ValueError, match="1 transfers are pending"):
        session.close(10_000)
    session.advance(200)
    with pytest.raises(ValueError, match="over; now: 200"):
        session.submit(199, np.array([0]))
    with pytest.raises(ValueError, match="last burst ends after"):
        session.close(3)
    with pytest.raises(SpecError, match="smallest value that works is 1"):
        DramSession(tiny(), queue=0)


@pytest.mark.parametrize("name", ["lpddr5_6400", "hbm2e_3200", "ddr5_4800", "gddr6_14000"])
@pytest.mark.parametrize("copies", [1, 2, 8])
def test_memories_side_by_side_have_the_bandwidth_of_all_of_them(name, copies):
    one = load_dram(name)
    many = side_by_side(one, copies)
    assert faults(many) == []
    assert many.peak_bytes_per_s == copies * one.peak_bytes_per_s
    burst = one.organisation.burst_bytes
    n = 3000 * many.organisation.channels
    report = simulate(many, make_requests(np.arange(n) * burst))
    assert report.bandwidth_bytes_per_s > 0.92 * many.peak_bytes_per_s
    # every channel gets its share of a stream
    assert len(set(report.channels.requests.tolist())) == 1


def test_a_memory_of_one_channel_is_interleaved_above_its_first_columns():
    pair = side_by_side(tiny(), 2)
    assert faults(pair) == []
    assert pair.mapping.channel == ((7, 7),)
