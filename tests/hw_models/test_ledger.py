import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw_models.ledger import (
    INT64_MAX,
    Direction,
    Dtype,
    Ledger,
    Level,
    OpKey,
    OpKind,
    Pattern,
    Phase,
    Segments,
    StreamKey,
    Tensor,
)

MULTIPLY = OpKey(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16)
ADD = OpKey(Phase.VALUE, OpKind.ADD, Dtype.FP32)
READ_K = StreamKey(
    Phase.SCORE, Tensor.K, Level.MAIN, Direction.READ, Pattern.STREAM, segment_bytes=256
)
READ_V = StreamKey(
    Phase.VALUE, Tensor.V, Level.MAIN, Direction.READ, Pattern.GATHER, segment_bytes=100
)
WRITE_STASH = StreamKey(
    Phase.SOFTMAX, Tensor.STASH, Level.SCRATCH, Direction.WRITE, Pattern.STREAM, 40, 4000
)

# far enough below 2^63 that the sums and multiples taken below stay inside
counts = st.integers(0, 2**30)
op_keys = st.builds(
    OpKey,
    st.sampled_from(Phase),
    st.sampled_from(OpKind),
    st.sampled_from(Dtype),
    st.integers(1, 5),
)
stream_keys = st.builds(
    StreamKey,
    st.sampled_from(Phase),
    st.sampled_from(Tensor),
    st.sampled_from(Level),
    st.sampled_from(Direction),
    st.sampled_from(Pattern),
    st.integers(1, 300),
    st.integers(0, 1000),
)
segments = st.tuples(counts, counts).map(lambda pair: Segments(max(pair), min(pair)))
ledgers = st.builds(
    Ledger,
    st.dictionaries(op_keys, counts, max_size=6),
    st.dictionaries(stream_keys, segments, max_size=6),
    st.just(32),
)


def sample() -> Ledger:
    return Ledger(
        {MULTIPLY: 3, ADD: 5},
        {READ_K: Segments(4, 4), READ_V: Segments(7, 2), WRITE_STASH: Segments(10, 10)},
    )


@given(ledgers, ledgers, ledgers)
def test_addition_is_commutative_and_associative_with_the_empty_ledger_as_zero(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Ledger(granularity_bytes=32) == a


@given(ledgers, ledgers, st.integers(0, 9))
def test_scaling_repeats_addition_and_distributes(a, b, times):
    repeated = Ledger(granularity_bytes=32)
    for _ in range(times):
        repeated += a
    assert a * times == times * a == repeated
    assert (a + b) * times == a * times + b * times


@given(ledgers, ledgers)
def test_every_figure_of_a_sum_is_the_sum_of_the_figures(a, b):
    for figure in ("logical", "unique", "moved", "workspace"):
        assert (a + b).bytes(figure) == a.bytes(figure) + b.bytes(figure)
    for kind in OpKind:
        assert (a + b).count(kind) == a.count(kind) + b.count(kind)


@given(ledgers)
def test_figures_are_ordered(ledger):
    assert ledger.bytes("unique") <= ledger.bytes("logical")
    assert ledger.bytes("unique") <= ledger.bytes("moved")
    assert ledger.bytes("workspace") <= ledger.bytes("moved")


@given(ledgers)
def test_serialised_copied_and_pickled_ledgers_are_equal(ledger):
    for twin in (
        Ledger.from_dict(ledger.to_dict()),
        copy.deepcopy(ledger),
        pickle.loads(pickle.dumps(ledger)),
    ):
        assert twin == ledger
        assert hash(twin) == hash(ledger)
        assert ledger.difference(twin) == {}


@given(ledgers, ledgers)
def test_difference_is_empty_exactly_for_equal_ledgers(a, b):
    assert (a.difference(b) == {}) == (a == b)
    assert {key: pair[::-1] for key, pair in b.difference(a).items()} == a.difference(b)


def test_difference_shows_zeros_where_an_entry_is_absent():
    other = Ledger({ADD: 5}, {READ_K: Segments(4, 4), READ_V: Segments(7, 3)})
    assert sample().difference(other) == {
        MULTIPLY: (3, 0),
        READ_V: (Segments(7, 2), Segments(7, 3)),
        WRITE_STASH: (Segments(10, 10), Segments(0, 0)),
    }


def test_order_of_entry_and_zero_entries_do_not_matter():
    a = Ledger({MULTIPLY: 1, ADD: 2}, {READ_K: Segments(1, 1), READ_V: Segments(0, 0)})
    b = Ledger(
        {ADD: 2, MULTIPLY: 1, OpKey(Phase.MERGE, OpKind.EXP, Dtype.FP32): 0},
        {READ_K: Segments(1, 1)},
    )
    assert a == b
    assert hash(a) == hash(b)
    assert a.to_dict() == b.to_dict()


def test_counts_are_summed_over_the_fields_left_open():
    ledger = sample()
    assert ledger.count() == 8
    assert ledger.count(OpKind.MULTIPLY) == 3
    assert ledger.count(phase=Phase.VALUE) == 5
    assert ledger.count(dtype=Dtype.BF16) == 3
    assert ledger.count(OpKind.ADD, Phase.SCORE) == 0


def test_bytes_are_summed_over_the_fields_left_open():
    ledger = sample()
    assert ledger.bytes("logical") == 4 * 256 + 7 * 100 + 10 * 40
    assert ledger.bytes("unique", tensor=Tensor.V) == 200
    assert ledger.bytes("unique", phase=Phase.SCORE) == 1024
    assert ledger.bytes("unique", level=Level.SCRATCH) == 400
    assert ledger.bytes("unique", direction=Direction.READ) == 1224
    assert ledger.bytes("workspace") == 400
    assert ledger.bytes("workspace", tensor=Tensor.V) == 0


def test_an_unknown_figure_is_refused():
    with pytest.raises(ValueError, match="figure must be logical, unique, moved or workspace"):
        sample().bytes("physical")


@pytest.mark.parametrize(
    ("granularity", "moved_row"), [(1, 100), (32, 128), (64, 128), (128, 128), (100, 100)]
)
def test_moved_rounds_each_unique_segment_up_to_the_granule(granularity, moved_row):
    ledger = Ledger({}, {READ_V: Segments(7, 2)}).rounded_to(granularity)
    assert ledger.bytes("moved") == 2 * moved_row
    assert ledger.bytes("unique") == 200
    assert ledger.bytes("logical") == 700


def test_workspace_is_moved_bytes_of_workspace_tensors_only():
    assert sample().rounded_to(32).bytes("workspace") == 10 * 64
    assert {tensor for tensor in Tensor if tensor.is_workspace} == {
        Tensor.STASH,
        Tensor.TILE_MASS,
        Tensor.PARTIAL,
        Tensor.INDEX,
    }


def test_keys_and_values_of_one_llama_layer_are_128_mebibytes():
    kv_heads, head_dim, context = 8, 128, 32_768
    per_head = context * head_dim * Dtype.BF16.bytes
    streams = {
        StreamKey(phase, tensor, Level.MAIN, Direction.READ, Pattern.STREAM, per_head): Segments(
            kv_heads, kv_heads
        )
        for phase, tensor in ((Phase.SCORE, Tensor.K), (Phase.VALUE, Tensor.V))
    }
    ledger = Ledger({}, streams)
    assert ledger.bytes("logical") == 134_217_728 == 128 * 2**20
    assert ledger.rounded_to(32).bytes("moved") == 134_217_728


def test_the_largest_int64_is_a_count_and_one_more_is_not():
    assert Ledger({ADD: INT64_MAX}).count() == INT64_MAX
    with pytest.raises(OverflowError, match="count of value add fp32"):
        Ledger({ADD: INT64_MAX + 1})
    with pytest.raises(OverflowError, match="count of value add fp32"):
        Ledger({ADD: INT64_MAX}) + Ledger({ADD: 1})
    with pytest.raises(OverflowError, match="count of value add fp32"):
        Ledger({ADD: 2**62}) * 2


def test_totals_stay_within_int64_too():
    with pytest.raises(OverflowError, match="total operations"):
        Ledger({ADD: INT64_MAX, MULTIPLY: 1})
    with pytest.raises(OverflowError, match="total logical bytes"):
        Ledger({}, {READ_K: Segments(2**56, 1)})
    barely = Ledger({}, {READ_V: Segments(2**56, 2**56)})
    with pytest.raises(OverflowError, match="total moved bytes"):
        barely.rounded_to(128)


@pytest.mark.parametrize("count", [1.0, 1.5, True, "1", None])
def test_a_count_that_is_no_int_is_refused(count):
    with pytest.raises(TypeError, match="must be an int"):
        Ledger({ADD: count})
    with pytest.raises(TypeError, match="must be an int"):
        Segments(count, 0)
    with pytest.raises(TypeError, match="must be an int"):
        sample() * count
    with pytest.raises(TypeError, match="must be an int"):
        sample().rounded_to(count)


def test_negative_counts_are_refused():
    with pytest.raises(OverflowError, match=r"within 0\.\.2\^63-1, got -1"):
        Ledger({ADD: -1})
    with pytest.raises(OverflowError, match="got -1"):
        Segments(1, -1)
    with pytest.raises(OverflowError, match="got -2"):
        sample() * -2


def test_unique_segments_cannot_exceed_logical_ones():
    with pytest.raises(ValueError, match=r"unique segments \(2\) exceed logical \(1\)"):
        Segments(1, 2)


def test_sizes_below_one_are_refused():
    with pytest.raises(ValueError, match="granularity_bytes must be >= 1, got 0"):
        sample().rounded_to(0)
    with pytest.raises(ValueError, match="multiplicity of value accumulate must be >= 1, got 0"):
        Ledger({OpKey(Phase.VALUE, OpKind.ACCUMULATE, Dtype.FP32, 0): 1})
    empty_row = StreamKey(
        Phase.SCORE, Tensor.K, Level.MAIN, Direction.READ, Pattern.STREAM, segment_bytes=0
    )
    with pytest.raises(ValueError, match="segment_bytes of score k must be >= 1, got 0"):
        Ledger({}, {empty_row: Segments(1, 1)})


def test_ledgers_of_different_granularity_do_not_add():
    with pytest.raises(ValueError, match="do not add: 32 and 64 bytes"):
        sample().rounded_to(32) + sample().rounded_to(64)


def test_a_ledger_cannot_be_changed_and_does_not_watch_what_it_was_made_from():
    ops = {ADD: 5}
    ledger = Ledger(ops)
    ops[ADD] = 6
    assert ledger.count() == 5
    with pytest.raises(TypeError):
        ledger.ops[ADD] = 6
    with pytest.raises(AttributeError):
        ledger.granularity_bytes = 2
    with pytest.raises(AttributeError):
        ADD.multiplicity = 2


def test_from_dict_refuses_unknown_names_repeats_and_inexact_numbers():
    data = sample().to_dict()
    unknown = {**data, "ops": [["score", "mulitply", "bf16", 1, 3]]}
    with pytest.raises(ValueError, match="mulitply"):
        Ledger.from_dict(unknown)
    with pytest.raises(ValueError, match="an entry twice"):
        Ledger.from_dict({**data, "ops": data["ops"] * 2})
    with pytest.raises(TypeError, match=r"must be an int, got 3\.5"):
        Ledger.from_dict({**data, "ops": [["score", "multiply", "bf16", 1, 3.5]]})


def test_sizes_of_the_number_formats():
    assert {d: d.bytes for d in Dtype if d is not Dtype.BIT} == {
        Dtype.FP32: 4,
        Dtype.BF16: 2,
        Dtype.FP16: 2,
        Dtype.INT32: 4,
    }
    with pytest.raises(ValueError, match="a bit has no storage size"):
        _ = Dtype.BIT.bytes


def test_frame_has_one_row_per_entry_and_exact_integers():
    beyond_float64 = 2**53 + 1
    ledger = (sample() + Ledger({}, {WRITE_STASH: Segments(beyond_float64, 1)})).rounded_to(32)
    frame = ledger.to_frame()
    assert list(frame.columns) == [
        "entry", "phase", "name", "dtype", "multiplicity", "level", "direction", "pattern",
        "segment_bytes", "footprint_bytes", "count",
        "logical_bytes", "unique_bytes", "moved_bytes", "workspace_bytes",
    ]  # fmt: skip
    text = {"entry", "phase", "name", "dtype", "level", "direction", "pattern"}
    for column in frame.columns:
        assert frame[column].dtype == ("string" if column in text else "Int64")
    operations = frame[frame["entry"] == "operation"]
    streams = frame[frame["entry"] == "stream"]
    assert len(operations) == len(ledger.ops)
    assert len(streams) == len(ledger.streams)
    assert operations["count"].sum() == ledger.count()
    assert operations["logical_bytes"].isna().all()
    for figure in ("logical", "unique", "moved", "workspace"):
        assert int(streams[f"{figure}_bytes"].sum()) == ledger.bytes(figure)
    stash = streams[streams["name"] == "stash"].iloc[0]
    assert int(stash["count"]) == beyond_float64 + 10
    assert int(stash["footprint_bytes"]) == 4000


def test_frame_of_an_empty_ledger_keeps_its_columns():
    empty = Ledger().to_frame()
    assert empty.empty
    assert list(empty.columns) == list(sample().to_frame().columns)
    assert (empty.dtypes == sample().to_frame().dtypes).all()
