from copy import deepcopy

import pytest
from tiny_accelerator import op, segments, stream, tiny

from hw_models.accelerator import Accelerator
from hw_models.boundary import Boundary, MixedBoundariesError
from hw_models.catalogue import constants_used, load_accelerator
from hw_models.energy import activation_extra, energy
from hw_models.evaluate import Evaluation, evaluate
from hw_models.ledger import (
    Direction,
    Dtype,
    Ledger,
    Level,
    OpKind,
    Pattern,
    Phase,
    Segments,
    Tensor,
)
from hw_models.lowering import lower
from hw_models.problems import SpecError
from hw_models.quantity import Interval
from hw_models.timing import TimeReport

PICO = 1e-12
KEYS = stream(Tensor.K, 3200, phase=Phase.SCORE)
VALUES = stream(Tensor.V, 256, pattern=Pattern.GATHER)
OUT = stream(Tensor.OUT, 64, phase=Phase.MERGE, direction=Direction.WRITE)
STASH_WRITE = stream(Tensor.STASH, 512, phase=Phase.SOFTMAX, level=Level.SCRATCH,
                     direction=Direction.WRITE, footprint=512)
STASH_READ = stream(Tensor.STASH, 512, phase=Phase.SAMPLE, level=Level.SCRATCH, footprint=512)

# one stream and one operation per phase and part, so that each constant has a term of its own
EVERYTHING = Ledger(
    {
        op(Phase.SCORE, OpKind.MULTIPLY, Dtype.BF16): 1000,
        op(Phase.SCORE, OpKind.ADD): 1000,
        op(Phase.SOFTMAX, OpKind.EXP): 10,
        op(Phase.SOFTMAX, OpKind.COMPARE): 40,
        op(Phase.SAMPLE, OpKind.RANDOM_BITS, Dtype.BIT): 24,
        op(Phase.VALUE, OpKind.ADD): 300,
        op(Phase.MERGE, OpKind.MULTIPLY): 100,
        op(Phase.MERGE, OpKind.SHIFT): 50,
    },
    {
        KEYS: segments(1), VALUES: Segments(9, 4), OUT: segments(2),
        STASH_WRITE: segments(1), STASH_READ: segments(1),
    },
)


def evaluated(ledger=EVERYTHING, accelerator=None) -> Evaluation:
    result = evaluate(ledger, accelerator or tiny())
    assert isinstance(result, Evaluation), result
    return result


def parts(report):
    """Return (part, phase) -> joules, summed over the constants behind them."""
    sums = {}
    for part in report.parts:
        key = part.name, part.phase
        sums[key] = sums[key] + part.energy_j if key in sums else part.energy_j
    return sums


def picojoules(interval):
    return interval.low / PICO, interval.nominal / PICO, interval.high / PICO


def test_every_term_of_the_device_account_is_the_one_worked_out_by_hand():
    found = {key: picojoules(joules) for key, joules in
             parts(evaluated().energy["device"]).items()}
    # bits × pJ/bit, activations × pJ, operations × pJ, each at low, nominal, high
    by_hand = {
        ("main memory read", Phase.SCORE): (25600 * 1, 25600 * 2, 25600 * 4),
        ("main memory read", Phase.VALUE): (8192 * 1, 8192 * 2, 8192 * 4),
        # four rows of 256 bytes: each opens a 1024-byte row, a quarter of which is paid already
        ("row activation", Phase.VALUE): (3 * 500, 3 * 1000, 3 * 2000),
        ("main memory write", Phase.MERGE): (1024 * 2, 1024 * 3, 1024 * 5),
        ("buffer", Phase.SOFTMAX): (4096 * 0.5, 4096 * 0.75, 4096 * 1.5),
        ("buffer", Phase.SAMPLE): (4096 * 0.25, 4096 * 0.5, 4096 * 1),
        ("multiply", Phase.SCORE): (100, 200, 400),
        ("add", Phase.SCORE): (200, 400, 800),
        ("exp", Phase.SOFTMAX): (5, 10, 60),
        ("other arithmetic", Phase.SOFTMAX): (0.6, 1.2, 2.4),
        ("random bits", Phase.SAMPLE): (0.24, 1.2, 6),
        ("add", Phase.VALUE): (60, 120, 240),
        ("multiply", Phase.MERGE): (70, 130, 260),
        ("other arithmetic", Phase.MERGE): (0.25, 0.5, 1),
    }
    assert set(found) == set(by_hand)
    for key, expected in by_hand.items():
        assert found[key] == pytest.approx(expected, rel=1e-12), key


def test_the_board_account_has_its_own_figures_overhead_and_static_power():
    report = evaluated().energy["board"]
    found = parts(report)
    seconds = evaluated().time.time_s
    assert picojoules(found["main memory read", Phase.SCORE]) == pytest.approx(
        (25600 * 8, 25600 * 16, 25600 * 32), rel=1e-12)
    # the matrix unit has a board table of its own; the scalar unit pays 1.5, 2, 3 times its table
    assert picojoules(found["add", Phase.SCORE]) == pytest.approx((350, 700, 1400), rel=1e-12)
    assert picojoules(found["add", Phase.VALUE]) == pytest.approx((90, 240, 720), rel=1e-12)
    static = found["static", None]
    assert (static.low, static.nominal, static.high) == (
        seconds.low * 5, seconds.nominal * 10, seconds.high * 20)
    assert not any(name == "row activation" for name, _ in found)


@pytest.mark.parametrize("account", ["device", "board"])
def test_a_total_is_the_sum_of_its_parts_at_each_end(account):
    report = evaluated().energy[account]
    for end in ("low", "nominal", "high"):
        total = sum(getattr(part.energy_j, end) for part in report.parts)
        assert getattr(report.total_j, end) == pytest.approx(total, rel=1e-13)
        by_name = sum(getattr(joules, end) for joules in report.by_name().values())
        assert by_name == pytest.approx(total, rel=1e-13)


def test_average_power_times_time_is_the_total_energy():
    result = evaluated()
    for report in result.energy.values():
        assert report.average_power_w * result.time.time_s.nominal == pytest.approx(
            report.total_j.nominal, rel=1e-14)


def test_no_time_means_no_average_power():
    nothing = evaluated(Ledger({}, {}))
    assert {report.average_power_w for report in nothing.energy.values()} == {0.0}


def constants(node, path=()):
    """Yield the path of every energy or power constant in a dumped accelerator."""
    if isinstance(node, dict):
        if node.get("unit") in ("pJ/bit", "pJ/op", "pJ/activation", "W"):
            yield path
        else:
            for key, value in node.items():
                yield from constants(value, (*path, key))


DUMP = tiny().model_dump()
CONSTANTS = list(constants(DUMP))
# bf16 products run on the matrix unit, whose board table is its own: the shared one is not asked
UNUSED = {("arithmetic", "energy", "board", "table", "ops", OpKind.MULTIPLY, Dtype.BF16)}


def doubled(path) -> Accelerator:
    data = deepcopy(DUMP)
    constant = data
    for key in path:
        constant = constant[key]
    for end in ("low", "value", "high"):
        constant[end] *= 2
    return Accelerator.model_validate(data)


def test_every_kind_of_constant_is_among_those_that_are_doubled():
    assert len(CONSTANTS) == 3 + 2 + 2 + 2 + 2 + 7 + 7 + 1
    assert set(CONSTANTS) >= UNUSED


@pytest.mark.parametrize("path", CONSTANTS, ids=lambda path: ".".join(map(str, path)))
def test_doubling_a_constant_doubles_its_own_term_and_moves_the_total_by_that(path):
    before, after = evaluated(), evaluated(accelerator=doubled(path))
    changed = {}
    for account, report in before.energy.items():
        new = parts(after.energy[account])
        for key, old in parts(report).items():
            if new[key] != old:
                changed[account, *key] = old
                assert new[key].nominal == pytest.approx(2 * old.nominal, rel=1e-14)
        moved = sum(old.nominal for (where, *_), old in changed.items() if where == account)
        total = after.energy[account].total_j.nominal
        # the sums differ by rounding of a dozen terms
        assert total - report.total_j.nominal == pytest.approx(
            moved, rel=1e-9, abs=1e-13 * total)
    assert len({(account, name) for account, name, _ in changed}) == (path not in UNUSED)
    assert len({account for account, *_ in changed}) <= 1
    assert (after.lowered, after.time) == (before.lowered, before.time)


def test_an_overhead_scales_the_arithmetic_that_it_surrounds_and_nothing_else():
    before = evaluated()
    twice = "value: 2, low: 1.5, high: 3", "value: 4, low: 3, high: 6"
    after = evaluated(accelerator=tiny(twice))
    assert after.energy["device"] == before.energy["device"]
    old, new = parts(before.energy["board"]), parts(after.energy["board"])
    scaled = {key for key in old if new[key] != old[key]}
    assert scaled == {
        ("exp", Phase.SOFTMAX), ("other arithmetic", Phase.SOFTMAX), ("random bits", Phase.SAMPLE),
        ("add", Phase.VALUE), ("multiply", Phase.MERGE), ("other arithmetic", Phase.MERGE),
    }
    for key in scaled:
        assert new[key].nominal == pytest.approx(2 * old[key].nominal, rel=1e-14)


@pytest.mark.parametrize(
    ("segment_bytes", "row_bytes", "extra"),
    [(256, 1024, 0.75), (1024, 1024, 0.0), (32, 1024, 0.96875), (1536, 1024, 0.5),
     (256, 2048, 0.875), (4096, 2048, 0.0)],
)
def test_a_gathered_segment_pays_for_the_part_of_its_rows_that_it_does_not_read(
    segment_bytes, row_bytes, extra
):
    assert activation_extra(segment_bytes, row_bytes) == extra


def test_activations_count_the_sectors_that_move_not_the_bytes_asked_for():
    # 250 bytes move as 256
    ledger = Ledger({}, {stream(Tensor.V, 250, pattern=Pattern.GATHER): segments(4)})
    found = parts(evaluated(ledger).energy["device"])
    assert found["row activation", Phase.VALUE].nominal == pytest.approx(3000 * PICO, rel=1e-12)


def test_streams_of_one_phase_and_direction_share_one_part():
    query = stream(Tensor.Q, 320, phase=Phase.SCORE)
    found = parts(evaluated(Ledger({}, {KEYS: segments(1), query: segments(10)})).energy["device"])
    assert set(found) == {("main memory read", Phase.SCORE)}
    assert found["main memory read", Phase.SCORE].nominal == pytest.approx(
        6400 * 8 * 2 * PICO, rel=1e-12)


def test_a_stream_pays_no_extra_activation():
    ledger = Ledger({}, {stream(Tensor.V, 256): segments(4)})
    assert set(evaluated(ledger).energy["device"].by_name()) == {"main memory read"}


@pytest.mark.parametrize("account", ["device", "board"])
@pytest.mark.parametrize("name", ["h200_sxm", "edge_ternary_7nm_sram", "rtx_6000_ada"])
def test_every_term_has_the_range_of_the_constant_that_it_names(name, account):
    accelerator = load_accelerator(name)
    rows = {row.path: row for row in constants_used(accelerator)}
    ledger = Ledger({op(Phase.VALUE, OpKind.ADD): 300}, EVERYTHING.streams)
    report = evaluated(ledger, accelerator).energy[account]
    assert len(report.parts) > 4
    for part in report.parts:
        row, energy_j = rows[part.constant], part.energy_j
        # an operation is charged its entry times the overhead of its unit, static power lasts
        factor = rows.get(part.constant.split(".ops.")[0] + ".overhead.factor")
        if part.name == "static":
            factor = evaluated(ledger, accelerator).time.time_s
            factor_ends = factor.low, factor.nominal, factor.high
        else:
            factor_ends = (factor.low, factor.value, factor.high) if factor else (1.0, 1.0, 1.0)
        for end, own, times in ((energy_j.low, row.low, factor_ends[0]),
                                (energy_j.high, row.high, factor_ends[2])):
            assert end * row.value * factor_ends[1] == pytest.approx(
                energy_j.nominal * own * times, rel=1e-12)


def test_staging_writes_and_reads_each_byte_of_main_memory_once():
    staged = tiny(("stages_main_reads: false", "stages_main_reads: true"))
    before, after = parts(evaluated().energy["device"]), parts(
        evaluated(accelerator=staged).energy["device"])
    extra = {key: picojoules(after[key]) for key in after.keys() - before.keys()}
    assert extra == {
        ("staging", Phase.SCORE): pytest.approx((25600 * 0.75, 25600 * 1.25, 25600 * 2.5)),
        ("staging", Phase.VALUE): pytest.approx((8192 * 0.75, 8192 * 1.25, 8192 * 2.5)),
    }
    assert all(after[key] == before[key] for key in before)


def test_an_account_does_not_add_a_boundary_that_it_does_not_compose():
    mixed = tiny(("      boundary: dram_device", "      boundary: board_dynamic"))
    with pytest.raises(
        MixedBoundariesError,
        match="'main memory read' stands at boundary board_dynamic, which account 'device' does "
              r"not compose \(it has: functional_unit, on_chip_sram, dram_device\)",
    ):
        evaluate(Ledger({}, {KEYS: segments(1)}), mixed)


def test_an_account_may_compose_that_boundary_on_purpose():
    mixed = tiny(
        ("      boundary: dram_device", "      boundary: board_dynamic"),
        ("composes: [functional_unit, on_chip_sram, dram_device]",
         "composes: [functional_unit, on_chip_sram, board_dynamic]"),
    )
    boundaries = {part.boundary for part in evaluated(accelerator=mixed).energy["device"].parts}
    assert boundaries == {
        Boundary.FUNCTIONAL_UNIT, Boundary.ON_CHIP_SRAM, Boundary.BOARD_DYNAMIC
    }


def test_an_unknown_account_is_an_error_with_the_nearest_name():
    accelerator = tiny()
    with pytest.raises(SpecError, match=r"tiny has no account 'bord'; did you mean 'board'\?"):
        energy(lower(EVERYTHING, accelerator), accelerator, "bord", Interval.exact(1.0))


def test_evaluation_changes_no_count():
    before = EVERYTHING.to_dict()
    result = evaluated()
    assert EVERYTHING.to_dict() == before
    assert result.lowered.ledger == EVERYTHING.rounded_to(32)


def test_another_time_model_changes_static_energy_and_nothing_else():
    def slow(lowered, accelerator):
        return TimeReport(Interval.exact(2.0), Interval.exact(2.0), "memory", {}, {})

    before, after = evaluated(), evaluate(EVERYTHING, tiny(), slow)
    assert after.lowered == before.lowered
    assert after.energy["device"].parts == before.energy["device"].parts
    old, new = parts(before.energy["board"]), parts(after.energy["board"])
    assert {key for key in old if old[key] != new[key]} == {("static", None)}
    assert new["static", None] == Interval(10.0, 20.0, 40.0)
