import pytest
from tiny_accelerator import op, segments, stream, tiny

from hw_models.ledger import Direction, Dtype, Ledger, Level, OpKind, Pattern, Phase, Tensor
from hw_models.lowering import lower
from hw_models.quantity import Interval
from hw_models.roofline import roofline

DENSE = Ledger(
    {
        op(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16): 1000,
        op(Phase.SCORE, OpKind.ADD): 1000,
        op(Phase.SOFTMAX, OpKind.EXP): 10,
        op(Phase.VALUE, OpKind.MULTIPLY, Dtype.BF16): 1000,
        op(Phase.VALUE, OpKind.ADD): 1000,
        op(Phase.MERGE, OpKind.MULTIPLY): 100,
    },
    {
        stream(Tensor.K, 3200, phase=Phase.SCORE): segments(1),
        stream(Tensor.V, 320, pattern=Pattern.GATHER): segments(5),
        stream(Tensor.OUT, 32, phase=Phase.MERGE, direction=Direction.WRITE): segments(2),
    },
)


def timed(ledger, accelerator=None):
    accelerator = accelerator or tiny()
    return roofline(lower(ledger, accelerator), accelerator)


def close(interval, low, nominal, high):
    # the expected values are exact decimals; two roundings of a double are left
    return (interval.low, interval.nominal, interval.high) == pytest.approx(
        (low, nominal, high), rel=1e-14
    )


def test_busy_times_of_a_small_dense_step_are_those_worked_out_by_hand():
    busy = timed(DENSE).busy_s
    # bytes over (peak × efficiency): 3200 / (1e9 × 0.5), 1600 / (1e9 × 0.25), 64 / (1e9 × 0.5)
    assert close(busy[Phase.SCORE]["memory"], 3200 / 2e9, 6.4e-6, 3200 / 0.125e9)
    assert close(busy[Phase.VALUE]["memory"], 1600 / 1e9, 6.4e-6, 1600 / 0.0625e9)
    assert close(busy[Phase.MERGE]["memory"], 64 / 2e9, 0.128e-6, 64 / 0.125e9)
    assert close(busy[Phase.SCORE]["matrix"], 1e-6, 2e-6, 4e-6)
    assert close(busy[Phase.VALUE]["matrix"], 1e-6, 2e-6, 4e-6)
    assert close(busy[Phase.SOFTMAX]["special"], 0.5e-6, 1e-6, 2e-6)
    assert close(busy[Phase.MERGE]["scalar"], 0.5e-6, 1e-6, 2e-6)
    assert sum(map(len, busy.values())) == 7


def test_perfect_overlap_takes_the_busiest_resource_and_none_takes_the_sum():
    report = timed(DENSE)
    assert report.bound == "memory"
    assert report.time_s.nominal == pytest.approx(12.928e-6, rel=1e-14)  # 6.4 + 6.4 + 0.128
    assert report.no_overlap_time_s.nominal == pytest.approx(18.928e-6, rel=1e-14)  # + 4 + 1 + 1
    assert report.utilisation == pytest.approx(
        {"memory": 1.0, "matrix": 4 / 12.928, "special": 1 / 12.928, "scalar": 1 / 12.928}
    )


def test_the_bound_names_the_unit_that_takes_longest():
    ledger = Ledger({op(Phase.SOFTMAX, OpKind.EXP): 10_000}, dict(DENSE.streams))
    report = timed(ledger)
    assert report.bound == "special"
    assert report.time_s.nominal == pytest.approx(1e-3, rel=1e-14)


def test_the_range_takes_the_slowest_resource_at_each_end():
    # memory 6.4 us within 1.6..25.6, exp 10 us within 5..20: nominal and low are bound by exp,
    # the high end by memory
    ledger = Ledger(
        {op(Phase.SOFTMAX, OpKind.EXP): 100},
        {stream(Tensor.K, 3200, phase=Phase.SCORE): segments(1)},
    )
    assert close(timed(ledger).time_s, 5e-6, 10e-6, 25.6e-6)


def test_scratch_traffic_takes_no_time_in_this_model():
    stash = stream(Tensor.STASH, 512, phase=Phase.SAMPLE, level=Level.SCRATCH, footprint=512)
    report = timed(Ledger({}, {stash: segments(3)}))
    assert report.bound == "none"
    assert report.time_s == report.no_overlap_time_s == Interval.exact(0.0)


@pytest.mark.parametrize("times", [2, 7, 1000])
def test_time_is_proportional_to_work(times):
    one, many = timed(DENSE), timed(DENSE * times)
    for field in ("time_s", "no_overlap_time_s"):
        a, b = getattr(one, field), getattr(many, field)
        assert close(b, a.low * times, a.nominal * times, a.high * times)
    assert many.bound == one.bound


def test_moved_and_not_asked_for_bytes_take_the_time():
    # 33 bytes take two sectors of 32
    report = timed(Ledger({}, {stream(Tensor.K, 33, phase=Phase.SCORE): segments(10)}))
    assert report.time_s.nominal == pytest.approx(640 / 0.5e9, rel=1e-14)
