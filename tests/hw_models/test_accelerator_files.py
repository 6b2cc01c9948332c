import pytest
from tiny_accelerator import TEXT, edited

from hw_models.boundary import MixedBoundariesError
from hw_models.catalogue import load_accelerator
from hw_models.problems import SpecError

READ = "read: {value: 2, low: 1, high: 4, unit: pJ/bit, source: s, confidence: judgement}"


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def written(tmp_path, text, name="tiny.yaml"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def fault(file, kind=SpecError):
    with pytest.raises(kind) as caught:
        load_accelerator(file)
    assert type(caught.value) is kind
    assert len(caught.value.problems) == 1, str(caught.value)
    return str(caught.value)


def test_an_accelerator_is_read_from_a_path(tmp_path):
    accelerator = load_accelerator(written(tmp_path, TEXT))
    assert accelerator.name == "tiny"
    assert accelerator.memory.energy["device"].read.value == 2


WRONG = {
    "unknown key": (
        READ.replace("source", "facst: [x], source"), "memory.energy.device.read.facst",
        "unknown key; did you mean 'facts'?",
    ),
    "wrong unit": (
        READ.replace("pJ/bit", "pJ/byte"), "memory.energy.device.read",
        "unit must be 'pJ/bit', got 'pJ/byte'",
    ),
    "negative": (
        READ.replace("low: 1", "low: -1"), "memory.energy.device.read.low",
        "input should be greater than or equal to 0; got -1",
    ),
    "not a number": (
        READ.replace("value: 2", "value: .nan"), "memory.energy.device.read.value",
        "input should be a finite number; got nan",
    ),
    "infinite": (
        READ.replace("high: 4", "high: .inf"), "memory.energy.device.read.high",
        "input should be a finite number; got inf",
    ),
    "text for a number": (
        READ.replace("value: 2", "value: two"), "memory.energy.device.read.value",
        "got 'two'",
    ),
    "no source": (
        READ.replace(" source: s,", ""), "memory.energy.device.read.source",
        "required key is missing",
    ),
    "low above value": (
        READ.replace("low: 1", "low: 3"), "memory.energy.device.read",
        "needs low <= value <= high, got low 3.0, value 2.0, high 4.0",
    ),
    "value above high": (
        READ.replace("high: 4", "high: 1.5"), "memory.energy.device.read",
        "needs low <= value <= high, got low 1.0, value 2.0, high 1.5",
    ),
    "unknown confidence": (
        READ.replace("judgement", "judgment"), "memory.energy.device.read.confidence",
        "got 'judgment'; did you mean 'judgement'?",
    ),
}


def only_line(text, dotted, message, file, faulty_line):
    """Assert that the message is file:line: dotted path: message."""
    assert text.startswith(f"{file}:"), text
    line, path, rest = text[len(str(file)) + 1:].split(": ", 2)
    assert path == dotted
    assert message in rest
    assert int(line) == faulty_line
    assert "\n" not in text


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_constant_is_named_with_file_line_and_path(tmp_path, case):
    faulty, dotted, message = WRONG[case]
    text = edited((READ, faulty))
    file = written(tmp_path, text)
    # the entry stands on one line
    only_line(fault(file), dotted, message, file, line_of(text, faulty))


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_constant_in_a_part_file_is_named_with_the_parts_own_line(tmp_path, case):
    faulty, dotted, message = WRONG[case]
    start = TEXT.index("    device:\n      boundary: dram_device")
    end = TEXT.index("    board:\n", start)
    block = TEXT[start:end].split("\n", 1)[1]
    part_text = "\n".join(line[6:] for line in block.splitlines()) + "\n"
    whole = TEXT[:start] + "    device: dram.yaml\n" + TEXT[end:]
    file = written(tmp_path, whole)
    part = written(tmp_path, part_text, "dram.yaml")
    assert load_accelerator(file) == load_accelerator(written(tmp_path, TEXT, "whole.yaml"))
    broken = edited((READ, faulty), text=part_text)
    written(tmp_path, broken, "dram.yaml")
    inside = dotted.removeprefix("memory.energy.device.")
    only_line(fault(file), inside, message, part, line_of(broken, faulty))


def test_an_unknown_part_names_the_nearest_one(tmp_path):
    start, end = TEXT.index("memory:\n"), TEXT.index("buffer:\n")
    text = TEXT[:start] + "memory: h200_sxm_hbm3\n" + TEXT[end:]
    message = fault(written(tmp_path, text))
    assert ":5: memory: no memory part 'h200_sxm_hbm3'; did you mean 'h200_sxm_hbm3e'?" in message


def test_an_unknown_accelerator_names_the_nearest_one():
    with pytest.raises(SpecError, match=r"no accelerator 'h200_smx'; did you mean 'h200_sxm'\?"):
        load_accelerator("h200_smx")


def test_a_missing_file_is_one_clear_line(tmp_path):
    file = tmp_path / "none.yaml"
    assert fault(file) == f"{file}: cannot read: No such file or directory"


STRUCTURE = {
    "lowered kind as a unit": (
        ("executes: {exp: [fp32]}", "executes: {accumulate: [fp32]}"),
        "arithmetic.units.special: no unit executes accumulate",
    ),
    "activation without rows": (
        ("  row_bytes: 1024\n", ""),
        "memory: energy.device.activation needs row_bytes, which is missing",
    ),
    "efficiency above one": (
        ("value: 0.5, low: 0.25, high: 1.0", "value: 0.5, low: 0.25, high: 1.5"),
        "memory.streaming_efficiency: an efficiency is at most 1, got high 1.5",
    ),
    "no bandwidth": (
        ("value: 1.0e9, low: 0.5e9, high: 2.0e9, unit: B/s",
         "value: 1.0e9, low: 0, high: 2.0e9, unit: B/s"),
        "memory: peak_bandwidth must be above 0, low end included",
    ),
    "no rate": (
        ("value: 1.0e7, low: 0.5e7", "value: 1.0e7, low: 0"),
        "arithmetic.units.special: rate must be above 0, low end included",
    ),
    "fraction of a byte": (
        ("granularity_bytes: 32", "granularity_bytes: 32.0"),
        "memory.granularity_bytes: input should be a valid integer; got 32.0",
    ),
    "account that does not exist": (
        ("static:\n  board:", "static:\n  bord:"),
        "static.bord: no account 'bord' (has: device, board)",
    ),
    "operation without energy": (
        ("executes: {exp: [fp32]}\n      phases: [softmax]",
         "executes: {exp: [fp32, bf16]}\n      phases: [softmax]"),
        "arithmetic.units.special: account 'device' has no energy for exp (bf16)",
    ),
}


@pytest.mark.parametrize("case", STRUCTURE)
def test_parts_that_do_not_fit_together_are_errors(tmp_path, case):
    change, message = STRUCTURE[case]
    with pytest.raises(SpecError) as caught:
        load_accelerator(written(tmp_path, edited(change)))
    first = str(caught.value).splitlines()[0]
    assert message in first
    assert first.startswith(str(tmp_path))


def test_an_account_without_an_energy_from_a_part_is_an_error(tmp_path):
    text = edited((
        "accounts:\n", "accounts:\n  wall: {composes: [board_total], rule: at the plug}\n"
    ))
    with pytest.raises(SpecError) as caught:
        load_accelerator(written(tmp_path, text))
    messages = [problem.message for problem in caught.value.problems]
    assert messages == [
        "account 'wall' is missing", "account 'wall' is missing",
        *["nothing gives this unit's energy in account 'wall'"] * 4,
    ]


MIXED = {
    "memory.energy.device": (
        "      boundary: dram_device", "      boundary: board_dynamic", "board_dynamic", "device"
    ),
    "buffer.energy.device": (
        "      boundary: on_chip_sram", "      boundary: board_dynamic", "board_dynamic", "device"
    ),
    "static.board": (
        "boundary: board_static", "boundary: board_total", "board_total", "board"
    ),
    "arithmetic.energy.board": (
        "      overhead:\n        boundary: board_dynamic",
        "      overhead:\n        boundary: functional_unit", "functional_unit", "board"
    ),
    "arithmetic.units.matrix.energy.board": (
        "          table:\n            boundary: board_dynamic",
        "          table:\n            boundary: functional_unit", "functional_unit", "board",
    ),
}


@pytest.mark.parametrize("path", MIXED)
def test_a_term_at_a_boundary_that_its_account_does_not_compose_is_refused(tmp_path, path):
    old, new, boundary, account = MIXED[path]
    file = written(tmp_path, edited((old, new)))
    message = fault(file, MixedBoundariesError)
    assert f": {path}: stands at boundary {boundary}, which account '{account}'" in message
    assert message.startswith(f"{file}:")


@pytest.mark.parametrize("value", ["5", "[1, 2]", "null", "true"])
@pytest.mark.parametrize("part", ["memory", "arithmetic"])
def test_a_part_that_is_neither_a_mapping_nor_a_name_is_refused(tmp_path, part, value):
    following = {"memory": "buffer:\n", "arithmetic": "static:\n"}[part]
    start, end = TEXT.index(f"{part}:\n"), TEXT.index(following)
    file = written(tmp_path, TEXT[:start] + f"{part}: {value}\n" + TEXT[end:])
    assert fault(file).startswith(f"{file}:{line_of(TEXT, f'{part}:')}: {part}: ")
