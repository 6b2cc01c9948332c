"""Small schedules and machines for the tests of the pipeline, and the rules that runs must obey."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from hw_models.dram import burst_addresses, load_dram, make_requests
from hw_models.dram import simulate as simulate_memory
from hw_models.pipeline import Machine, Schedule, Step, Transfer

LPDDR5 = load_dram("lpddr5_6400")
UNITS = ("array", "scan", "adders")
LARGE = 1 << 40


def machine(**sizes):
    """All units do 1 op per nanosecond; buffers are as good as unlimited."""
    return replace(
        Machine(
            rates=dict.fromkeys(UNITS, 1e9),
            buffers={"stream": LARGE, "lists": LARGE, "rows": LARGE}, sram_bytes=4 * LARGE,
            memory=LPDDR5, in_flight={"fetch": 2, "gather": 2}, path_s=20e-9,
        ),
        **sizes,
    )


def two_passes(items):
    """fetch -> array -> scan -> gather -> add per item: (bursts, array, scan, rows, adds)."""
    steps = []
    for i, (bursts, work, scan, rows, adds) in enumerate(items):
        size = 32 * bursts
        at = len(steps)
        steps.append(Step(
            "fetch", f"fetch {i}", {}, Transfer(np.array([4096 * i]), size),
            takes=(("stream", size),),
        ))
        steps.append(Step(
            "array", f"array {i}", {"array": work}, after=(at,), gives_back=(("stream", size),)
        ))
        steps.append(Step(
            "scan", f"scan {i}", {"scan": scan}, after=(at + 1,), takes=(("lists", 4 * rows),)
        ))
        if rows == 0:
            continue
        place = (1 << 24) + 8192 * ((7 * i + 13 * np.arange(rows)) % 97)
        steps.append(Step(
            "gather", f"gather {i}", {"scan": rows}, Transfer(place, 64), after=(at + 2,),
            takes=(("rows", 64 * rows),),
        ))
        steps.append(Step(
            "add", f"add {i}", {"adders": adds}, after=(at + 1, at + 3),
            gives_back=(("lists", 4 * rows), ("rows", 64 * rows)),
        ))
    return Schedule(tuple(steps))


def streams(count, bursts=128, work=1000):
    """`count` items of one fetch and one computation each."""
    return Schedule(tuple(
        step for i in range(count) for step in (
            Step("fetch", f"fetch {i}", {}, Transfer(np.array([32 * bursts * i]), 32 * bursts),
                 takes=(("stream", 32 * bursts),)),
            Step("array", f"array {i}", {"array": work}, after=(2 * i,),
                 gives_back=(("stream", 32 * bursts),)),
        )
    ))


schedules = st.lists(
    st.tuples(st.integers(1, 40), st.integers(0, 900), st.integers(0, 900), st.integers(0, 9),
              st.integers(0, 900)),
    min_size=1, max_size=12,
).map(two_passes)


@st.composite
def machines(draw, schedule):
    """Machines from the tightest that work to roomy ones."""
    room = {name: most + draw(st.integers(0, 2 * most)) for name, most in schedule.largest.items()}
    return machine(
        rates={unit: draw(st.sampled_from([3e8, 1e9, 7e9])) for unit in UNITS}, buffers=room,
        sram_bytes=sum(room.values()),
        in_flight={"fetch": draw(st.integers(1, 3)), "gather": draw(st.integers(1, 3))},
        path_s=draw(st.sampled_from([0.0, 1e-9, 33e-9])), queue=draw(st.sampled_from([1, 4, 64])),
    )


@st.composite
def cases(draw):
    schedule = draw(schedules)
    return schedule, draw(machines(schedule))


def broken_rules(report):
    """Return what in a run does not follow from its schedule and its machine.

    Written from the rules alone: a step starts at the first moment at which its track has a slot,
    the step before it on the track has started (and has made its addresses), what it waits for has
    ended and its buffers have room. Computation lasts as long as its operations; transfers end
    when the memory, given all of them at once with their arrivals, says so.
    """
    schedule, machine, timeline = report.schedule, report.machine, report.timeline
    start, end, slot = timeline.start, timeline.end, timeline.slot
    found = []
    latest = {name: [0] * machine.in_flight.get(name, 1) for name in schedule.tracks}
    before = dict.fromkeys(schedule.tracks, 0)
    filled = {name: [] for name in schedule.largest}  # (time, bytes), of all steps so far
    for step, s, e in zip(schedule.steps, start, end, strict=True):
        for name, size in step.takes:
            filled[name].append((s, size))
        for name, size in step.gives_back:
            filled[name].append((e, -size))

    def room_at(name, size, own):
        """The first time at which the buffer has room, by what others hold."""
        taken_before = sum(
            dict(schedule.steps[j].takes).get(name, 0) for j in range(own)
            if schedule.steps[j].track == schedule.steps[own].track
        )
        given = sorted(
            (end[j], dict(step.gives_back).get(name, 0)) for j, step in enumerate(schedule.steps)
        )
        free, at = machine.buffers[name] - taken_before, 0
        for time, back in given:
            if free >= size:
                break
            free, at = free + back, time
        return at

    for i, step in enumerate(schedule.steps):
        duration = machine.duration_ps(step.work)
        vacancy = min(latest[step.track])
        ready = max(
            [vacancy, before[step.track], *(end[j] for j in step.after),
             *(room_at(name, size, i) for name, size in step.takes)]
        )
        if start[i] != ready:
            found.append(f"{step.label} starts at {start[i]}, could at {ready}")
        if latest[step.track][slot[i]] > start[i]:
            found.append(f"{step.label} shares slot {slot[i]}")
        latest[step.track][slot[i]] = end[i]
        before[step.track] = start[i] + duration
        if step.transfer is None and end[i] != start[i] + duration:
            found.append(f"{step.label} lasts {end[i] - start[i]}, not {duration}")
    for name, changes in filled.items():
        level = 0
        for _, size in sorted(changes):  # what is given back at a moment can be taken in it
            level += size
            if level > machine.buffers[name]:
                found.append(f"{name} holds {level}")
    return found + _transfers_that_end_otherwise(report)


def _transfers_that_end_otherwise(report):
    schedule, machine, timeline = report.schedule, report.machine, report.timeline
    cycle_ps = machine.memory.timing.tCK_ps
    requests, sizes = [], []
    for i in timeline.order:
        step = schedule.steps[i]
        sent = timeline.start[i] + machine.duration_ps(step.work) + machine.path_ps
        at = burst_addresses(step.transfer.start, step.transfer.segment_bytes,
                             machine.memory.organisation.burst_bytes)
        requests.append(make_requests(at, -(-sent // cycle_ps), step.transfer.is_write))
        sizes.append(len(at))
    if not requests:
        return []
    served = simulate_memory(
        machine.memory, np.concatenate(requests), policy=machine.policy, queue=machine.queue
    )
    last = np.maximum.reduceat(served.done_cycle, np.cumsum([0, *sizes[:-1]]))
    expected = last * cycle_ps + machine.path_ps
    return [
        f"{schedule.steps[i].label} ends at {timeline.end[i]}, the memory says {e}"
        for i, e in zip(timeline.order, expected, strict=True) if timeline.end[i] != e
    ]
