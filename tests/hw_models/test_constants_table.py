from tiny_accelerator import tiny

from hw_models.boundary import Boundary
from hw_models.catalogue import constants_used

UNITS = "arithmetic.units"
EXECUTED = {
    "matrix": ["multiply.bf16", "add.fp32"],
    "scalar": ["multiply.fp32", "add.fp32", "shift.fp32", "compare.fp32"],
    "special": ["exp.fp32"],
    "random": ["random_bits.bit"],
}


def test_there_is_one_row_for_each_constant_that_can_enter_a_result():
    paths = [row.path for row in constants_used(tiny())]
    expected = [
        "memory.peak_bandwidth", "memory.streaming_efficiency", "memory.gather_efficiency",
        *(f"memory.energy.device.{name}" for name in ("read", "write", "activation")),
        *(f"memory.energy.board.{name}" for name in ("read", "write")),
        *(f"buffer.energy.{account}.{name}" for account in ("device", "board")
          for name in ("read", "write")),
        "static.board.power",
        *(f"{UNITS}.{unit}.rate" for unit in EXECUTED),
        *(f"{UNITS}.{unit}.energy.{account}.ops.{op}" for unit, ops in EXECUTED.items()
          for account in ("device", "board") for op in ops),
        # the matrix unit's own board table needs no overhead
        *(f"{UNITS}.{unit}.energy.board.overhead.factor" for unit in EXECUTED if unit != "matrix"),
    ]
    assert sorted(paths) == sorted(expected)


def test_a_row_carries_the_figure_its_boundary_and_its_source():
    accelerator = tiny((
        "high: 4, unit: pJ/bit, source: s, confidence: judgement",
        "high: 4, unit: pJ/bit, source: a paper, confidence: derived, facts: [x, y]",
    ))
    rows = {row.path: row for row in constants_used(accelerator)}
    read = rows["memory.energy.device.read"]
    assert (read.low, read.value, read.high, read.unit) == (1, 2, 4, "pJ/bit")
    assert (read.boundary, read.source, read.facts) == (
        Boundary.DRAM_DEVICE, "a paper", ("x", "y"))
    assert (read.confidence, read.unverified) == ("derived", False)
    assert rows["memory.energy.device.write"].unverified
    assert rows["memory.peak_bandwidth"].boundary is None
    assert rows[f"{UNITS}.scalar.rate"].boundary is None
    assert rows["static.board.power"].boundary is Boundary.BOARD_STATIC
    assert rows[f"{UNITS}.scalar.energy.board.ops.add.fp32"].boundary is Boundary.FUNCTIONAL_UNIT
    factor = rows[f"{UNITS}.scalar.energy.board.overhead.factor"]
    assert (factor.boundary, factor.unit) == (Boundary.BOARD_DYNAMIC, "1")


def test_without_a_buffer_there_are_no_buffer_rows():
    accelerator = tiny().model_copy(update={"buffer": None})
    assert not [row for row in constants_used(accelerator) if row.path.startswith("buffer")]
