import pytest
from tiny_accelerator import edited, op, segments, stream, tiny

from hw_models.accelerator import Accelerator
from hw_models.ledger import Dtype, Ledger, Level, OpKind, Pattern, Phase, Segments, Tensor
from hw_models.lowering import Lowered, Misfit, MissingOp, lower
from hw_models.strict_yaml import SpecError, parse, validate

POLICIES = {
    "repeat_add": "multiplicity: repeat_add",
    "small_multiply": "multiplicity: small_multiply\n  count_format: bf16",
    "shift_add": "multiplicity: shift_add",
}


def with_policy(multiplicity="repeat_add", random_product="multiply", *changes):
    return tiny(
        (POLICIES["repeat_add"], POLICIES[multiplicity]),
        ("random_product: multiply", f"random_product: {random_product}"),
        *changes,
    )


def lowered(ledger, accelerator) -> Lowered:
    result = lower(ledger, accelerator)
    assert isinstance(result, Lowered), result
    return result


# policy, c -> multiplies, adds, shifts per element, written out by hand:
# 5 = 4 + 1, 6 = 4 + 2, 7 = 4 + 2 + 1, 8 = 8
ACCUMULATE = {
    ("repeat_add", 1): (0, 1, 0),
    ("repeat_add", 2): (0, 2, 0),
    ("repeat_add", 5): (0, 5, 0),
    ("small_multiply", 1): (0, 1, 0),
    ("small_multiply", 2): (1, 1, 0),
    ("small_multiply", 5): (1, 1, 0),
    ("shift_add", 1): (0, 1, 0),
    ("shift_add", 2): (0, 1, 1),
    ("shift_add", 5): (0, 2, 1),
    ("shift_add", 6): (0, 2, 2),
    ("shift_add", 7): (0, 3, 2),
    ("shift_add", 8): (0, 1, 1),
}


@pytest.mark.parametrize(("case", "expected"), ACCUMULATE.items())
def test_a_row_drawn_c_times_costs_what_its_policy_says(case, expected):
    policy, c = case
    ledger = Ledger({op(Phase.VALUE, OpKind.ACCUMULATE, multiplicity=c): 128})
    result = lowered(ledger, with_policy(policy)).ledger
    kinds = (OpKind.MULTIPLY, OpKind.ADD, OpKind.SHIFT)
    assert tuple(result.count(kind) for kind in kinds) == tuple(128 * n for n in expected)
    assert result.count() == 128 * sum(expected)


def test_counts_of_several_multiplicities_add_up_with_plain_adds():
    ledger = Ledger({
        op(Phase.VALUE, OpKind.ACCUMULATE, multiplicity=1): 10,
        op(Phase.VALUE, OpKind.ACCUMULATE, multiplicity=3): 100,
        op(Phase.VALUE, OpKind.ADD): 1000,
    })
    assert lowered(ledger, with_policy()).ledger.ops == {op(Phase.VALUE, OpKind.ADD): 1310}


def test_a_count_is_multiplied_in_the_count_format_and_added_in_the_ledgers():
    ledger = Ledger({op(Phase.VALUE, OpKind.ACCUMULATE, multiplicity=3): 10})
    assert lowered(ledger, with_policy("small_multiply")).ledger.ops == {
        op(Phase.VALUE, OpKind.MULTIPLY, Dtype.BF16): 10,
        op(Phase.VALUE, OpKind.ADD, Dtype.FP32): 10,
    }


@pytest.mark.parametrize(
    "line",
    ["multiplicity: small_multiply", "multiplicity: shift_add\n  count_format: bf16"],
    ids=["without", "with"],
)
def test_count_format_goes_with_small_multiply_alone(line):
    text = edited((POLICIES["repeat_add"], line))
    with pytest.raises(SpecError, match="arithmetic: count_format goes with multiplicity small_m"):
        validate(parse(text, "tiny.yaml"), Accelerator)


@pytest.mark.parametrize(
    ("policy", "multiplies", "adds", "shifts"), [("multiply", 1, 0, 0), ("shift_add", 0, 24, 24)]
)
def test_a_product_with_a_24_bit_uniform_follows_its_policy(policy, multiplies, adds, shifts):
    ledger = Ledger({op(Phase.SAMPLE, OpKind.RANDOM_PRODUCT): 7})
    result = lowered(ledger, with_policy(random_product=policy)).ledger
    assert result.count(OpKind.MULTIPLY) == 7 * multiplies
    assert result.count(OpKind.ADD) == 7 * adds
    assert result.count(OpKind.SHIFT) == 7 * shifts


MIXED = Ledger(
    {
        op(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16): 50,
        op(Phase.SCORE, OpKind.ADD): 50,
        op(Phase.SOFTMAX, OpKind.EXP): 5,
        op(Phase.SAMPLE, OpKind.RANDOM_BITS, Dtype.BIT): 24,
        op(Phase.SAMPLE, OpKind.RANDOM_PRODUCT): 1,
        op(Phase.VALUE, OpKind.ACCUMULATE, multiplicity=6): 30,
    },
    {
        stream(Tensor.K, 100, phase=Phase.SCORE): segments(4),
        stream(Tensor.V, 100, pattern=Pattern.GATHER): Segments(9, 5),
    },
)


def test_lowering_leaves_the_input_ledger_as_it_was():
    before = MIXED.to_dict()
    lower(MIXED, with_policy("shift_add", "shift_add"))
    assert MIXED.to_dict() == before


def test_energies_and_rates_change_no_count():
    plain = with_policy("shift_add")
    other = with_policy(
        "shift_add", "multiply",
        ("value: 1.0e9, low: 0.5e9, high: 2.0e9, unit: B/s",
         "value: 9.0e9, low: 0.5e9, high: 9.0e9, unit: B/s"),
        ("value: 1.0e7, low: 0.5e7, high: 2.0e7, unit: op/s",
         "value: 3.0e7, low: 0.5e7, high: 9.0e7, unit: op/s"),
        ("value: 0.4, low: 0.2", "value: 0.8, low: 0.2"),
    )
    assert plain != other
    assert lowered(MIXED, plain).ledger == lowered(MIXED, other).ledger


def test_policies_change_only_multiplies_adds_and_shifts():
    one = lowered(MIXED, with_policy("repeat_add", "multiply")).ledger
    two = lowered(MIXED, with_policy("shift_add", "shift_add")).ledger
    changed = {key.kind for key in one.difference(two)}
    assert changed == {OpKind.MULTIPLY, OpKind.ADD, OpKind.SHIFT}


def test_moved_bytes_are_rounded_up_to_the_memorys_sectors():
    result = lowered(MIXED, with_policy()).ledger
    # 100 bytes take four sectors of 32
    assert result.bytes("moved", tensor=Tensor.K) == 4 * 128
    assert result.bytes("moved", tensor=Tensor.V) == 5 * 128
    assert result.bytes("unique", tensor=Tensor.V) == 5 * 100
    assert result.bytes("logical", tensor=Tensor.V) == 9 * 100


def stash(footprint, level=Level.SCRATCH):
    return stream(Tensor.STASH, 512, phase=Phase.SAMPLE, level=level, footprint=footprint)


def test_workspace_that_just_fits_stays_in_the_buffer():
    result = lowered(Ledger({}, {stash(4096): segments(2)}), with_policy())
    assert list(result.ledger.streams) == [stash(4096)]
    assert result.notes == ()


def test_workspace_one_byte_too_large_moves_to_main_memory_and_a_note_says_so():
    result = lowered(Ledger({}, {stash(4097): segments(2)}), with_policy())
    assert list(result.ledger.streams) == [stash(4097, Level.MAIN)]
    assert result.notes == (
        "stash (4,097 bytes) goes to main memory: the buffer holds 4,096 bytes",
    )


def test_without_a_buffer_all_workspace_moves_to_main_memory():
    accelerator = tiny().model_copy(update={"buffer": None})
    result = lowered(Ledger({}, {stash(512): segments(1)}), accelerator)
    assert result.ledger.bytes("moved", level=Level.MAIN) == 512
    assert result.notes == ("stash (512 bytes) goes to main memory: there is no buffer",)


def test_spilled_workspace_joins_what_main_memory_moves_already():
    ledger = Ledger({}, {stash(5000): segments(2), stash(5000, Level.MAIN): segments(3)})
    assert lowered(ledger, with_policy()).ledger.streams == {stash(5000, Level.MAIN): segments(5)}


def test_a_note_says_when_the_cache_is_larger_than_main_memory():
    ledger = Ledger({}, {stream(Tensor.K, 1_000_001, phase=Phase.SCORE): segments(1)})
    assert lowered(ledger, with_policy()).notes == (
        "main memory holds 1,000,000 bytes, and 1,000,001 different bytes are asked for",
    )


def test_a_misfit_names_phase_kind_format_and_count_of_all_that_is_missing():
    ledger = Ledger({
        op(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16): 5,
        op(Phase.SCORE, OpKind.MULTIPLY, Dtype.FP16): 1234,
        op(Phase.MERGE, OpKind.DIVIDE): 32,
        op(Phase.MERGE, OpKind.EXP): 2,  # the tiny machine has exp in the softmax phase only
    })
    result = lower(ledger, with_policy())
    assert result == Misfit("tiny", (
        MissingOp(Phase.MERGE, OpKind.DIVIDE, Dtype.FP32, 32),
        MissingOp(Phase.MERGE, OpKind.EXP, Dtype.FP32, 2),
        MissingOp(Phase.SCORE, OpKind.MULTIPLY, Dtype.FP16, 1234),
    ))
    assert str(result) == (
        "does not fit tiny: no unit executes 32 divide (fp32) in phase merge; "
        "2 exp (fp32) in phase merge; 1,234 multiply (fp16) in phase score"
    )


def test_a_count_that_leaves_int64_is_an_error():
    ledger = Ledger({op(Phase.VALUE, OpKind.ACCUMULATE, multiplicity=255): 2**60})
    with pytest.raises(OverflowError, match="2\\^63"):
        lower(ledger, with_policy("repeat_add"))
