import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from hw_models import strict_yaml
from hw_models.strict_yaml import SpecError, did_you_mean, dotted_path, load, parse, validate


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Dense(Strict):
    kind: Literal["dense"]


class Sampled(Strict):
    kind: Literal["santa_iid", "santa_systematic"]
    samples: int = Field(ge=1)
    offsets: Literal["own", "shared"] = "own"

    @model_validator(mode="after")
    def _even(self):
        if self.samples == 13:
            raise ValueError("S = 13 is not allowed here, got 13")
        return self


class Memory(Strict):
    energy_pj: float = Field(ge=0)
    known: Literal["measured here", "from memory, unverified"] = "measured here"
    burst: Literal[32, 64] = 32
    colour: Colour = Colour.RED
    latency: Annotated[float, Field(alias="latencyNs")] = 1.0


class Study(Strict):
    name: str
    contexts: tuple[int, ...] = ()
    span: tuple[int, int] = (0, 1)
    budget: int | Literal["auto"] = "auto"
    memory: Memory | None = None
    memories: dict[str, Memory] = {}
    figure: float | Memory = 0.0
    method: Annotated[Dense | Sampled, Field(discriminator="kind")] | None = None
    methods: list[Annotated[Dense | Sampled, Field(discriminator="kind")]] = []

    @field_validator("contexts")
    @classmethod
    def _not_empty(cls, value):
        if 0 in value:
            raise ValueError("a context of 0 keys has nothing to attend to")
        return value


def check(text: str) -> Study:
    return validate(parse(text, "f.yaml"), Study)


def complaint(text: str) -> str:
    with pytest.raises(SpecError) as caught:
        check(text)
    return str(caught.value)


def test_plain_data_and_the_line_of_every_key():
    document = parse("name: a\n\nmemory:\n  energy_pj: 1e-3\ncontexts:\n  - 0x10\n  - 1_000\n", "f")
    assert document.data == {
        "name": "a",
        "memory": {"energy_pj": 0.001},
        "contexts": [16, 1000],
    }
    assert document.lines == {
        (): 1,
        ("name",): 1,
        ("memory",): 3,
        ("memory", "energy_pj"): 4,
        ("contexts",): 5,
        ("contexts", 0): 6,
        ("contexts", 1): 7,
    }
    assert document.line_of(("memory", "absent", "below")) == 3


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("1e9", 1e9),
        ("1.50", 1.5),
        ("010", 10),
        ("no", "no"),
        ("3:25", "3:25"),
        ("true", True),
        ("&anchor true", True),
        ("~", None),
        ("", None),
        ("'1'", "1"),
        ("2017-06-24", "2017-06-24"),
        ("!!str 3", "3"),
        ("|\n  two\n  lines", "two\nlines"),
    ],
)
def test_scalars_follow_yaml_1_2(scalar, value):
    got = parse(f"a: {scalar}", "f").data["a"]
    assert got == value
    assert type(got) is type(value)


def test_anchors_and_merge_keys():
    document = parse(
        "low: &low {x: 1, y: 2}\n"
        "high: &high {y: 3, z: 4}\n"
        "both:\n  <<: [*high, *low]\n  x: 9\n"
        "again: *low\n",
        "f",
    )
    assert document.data["both"] == {"x": 9, "y": 3, "z": 4}
    assert document.data["again"] == {"x": 1, "y": 2}
    assert document.lines["both", "x"] == 5
    assert document.lines["both", "z"] == 2


def test_a_valid_document_becomes_a_model():
    study = check("name: x\ncontexts: [2048, 4096]\nmethod: {kind: santa_iid, samples: 4}\n")
    assert study.contexts == (2048, 4096)
    assert study.method == Sampled(kind="santa_iid", samples=4)


def test_unknown_key_names_the_nearest_valid_one_and_all_of_them():
    assert complaint("name: x\nmemory:\n  energy_pj: 1\n  brust: 32\n") == (
        "f.yaml:4: memory.brust: unknown key; did you mean 'burst'? "
        "(valid: burst, colour, energy_pj, known, latencyNs)"
    )
    assert complaint("name: x\nqqqq: 1\n").startswith("f.yaml:2: qqqq: unknown key (valid: budget,")


def test_unknown_key_in_a_union_is_compared_with_its_own_branch():
    text = "name: x\nmethods:\n- kind: dense\n- kind: santa_iid\n  samples: 4\n  sample: 4\n"
    assert complaint(text) == (
        "f.yaml:6: methods[1].sample: unknown key; did you mean 'samples'? "
        "(valid: kind, offsets, samples)"
    )
    assert "(valid: kind)" in complaint("name: x\nmethod: {kind: dense, samples: 4}\n")


def test_unknown_key_below_names_that_the_author_chose():
    text = "name: x\nmemories:\n  lpddr5:\n    energy_pj: 1\n    colours: red\n"
    assert complaint(text).startswith(
        "f.yaml:5: memories.lpddr5.colours: unknown key; did you mean 'colour'?"
    )


def test_missing_key_is_named_at_the_line_of_what_lacks_it():
    assert complaint("contexts: [1]\n") == "f.yaml:1: name: required key is missing"
    assert complaint("name: x\nmemory:\n  burst: 32\n") == (
        "f.yaml:2: memory.energy_pj: required key is missing"
    )
    assert complaint("name: x\nspan: [1]\n") == "f.yaml:2: span[1]: required key is missing"


def test_missing_and_unknown_union_tags():
    assert complaint("name: x\nmethod: {samples: 4}\n") == (
        "f.yaml:2: method.kind: required key is missing"
    )
    assert complaint("name: x\nmethod:\n  samples: 4\n  kind: santa_idd\n") == (
        "f.yaml:4: method.kind: got 'santa_idd'; did you mean 'santa_iid'? "
        "(valid: dense, santa_iid, santa_systematic)"
    )


def test_union_tags_do_not_show_in_paths():
    assert complaint("name: x\nmethod: {kind: santa_iid, samples: 0}\n") == (
        "f.yaml:2: method.samples: input should be greater than or equal to 1; got 0"
    )
    assert complaint("name: x\nmethod: {kind: santa_iid, samples: 13}\n") == (
        "f.yaml:2: method: S = 13 is not allowed here, got 13"
    )


def test_a_union_of_plain_types_gives_one_line():
    text = complaint("name: x\nbudget: lots\n")
    assert "\n" not in text
    assert text.startswith("f.yaml:2: budget: ")
    assert "valid integer" in text
    assert "(valid: auto)" in text
    # the author wrote a mapping, so what a number would need is noise
    assert complaint("name: x\nfigure: {energy_pj: -1}\n") == (
        "f.yaml:2: figure.energy_pj: input should be greater than or equal to 0; got -1"
    )


def test_wrong_words_name_the_nearest_one_even_with_commas_inside():
    assert complaint("name: x\nmemory: {energy_pj: 1, known: from memory}\n") == (
        "f.yaml:2: memory.known: got 'from memory'; did you mean 'from memory, unverified'? "
        "(valid: from memory, unverified, measured here)"
    )
    assert complaint("name: x\nmemory: {energy_pj: 1, burst: 7}\n") == (
        "f.yaml:2: memory.burst: got 7 (valid: 32, 64)"
    )
    assert "did you mean 'red'? (valid: blue, red)" in complaint(
        "name: x\nmemory: {energy_pj: 1, colour: rd}\n"
    )


def test_numbers_out_of_range_and_not_numbers():
    assert complaint("name: x\nmemory: {energy_pj: -2}\n").endswith(
        "memory.energy_pj: input should be greater than or equal to 0; got -2"
    )
    assert "finite" in complaint("name: x\nmemory: {energy_pj: .nan}\n")
    assert "finite" in complaint("name: x\nmemory: {energy_pj: .inf}\n")
    assert "got 'much'" in complaint("name: x\nmemory: {energy_pj: much}\n")


def test_our_own_words_are_not_recased_or_repeated():
    assert complaint("name: x\ncontexts: [1, 0]\n") == (
        "f.yaml:2: contexts: a context of 0 keys has nothing to attend to"
    )


def test_a_long_value_is_cut_short():
    assert len(complaint(f"name: x\nmemory: {{energy_pj: {'x' * 9999}}}\n")) < 250


def test_every_fault_has_its_own_line():
    lines = complaint("nmae: x\nmemory:\n  energy_pj: -1\n  burst: 1\n").splitlines()
    assert len(lines) == 4
    assert all(line.startswith("f.yaml:") for line in lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: must be a mapping of keys to values, got nothing"),
        ("- 1\n", "f.yaml:1: must be a mapping of keys to values, got a list"),
        ("\n\njust text\n", "f.yaml:3: must be a mapping of keys to values, got 'just text'"),
    ],
)
def test_a_document_that_is_no_mapping(text, message):
    assert complaint(text) == message


def test_part_of_a_document_is_checked_at_its_own_path():
    document = parse("name: x\nmemory:\n  energy_pj: -1\nlist: [1]\n", "f.yaml")
    with pytest.raises(SpecError, match=r"^f.yaml:3: memory.energy_pj: "):
        validate(document, Memory, at=("memory",))
    with pytest.raises(SpecError, match=r"^f.yaml:2: memory.inner: required key is missing$"):
        validate(document, Memory, at=("memory", "inner"))
    with pytest.raises(SpecError, match=r"^f.yaml:4: list\[3\]: required key is missing$"):
        validate(document, Memory, at=("list", 3))
    with pytest.raises(SpecError, match=r"^f.yaml:4: list\[0\]: must be a mapping .*, got 1$"):
        validate(document, Memory, at=("list", 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "f:3: a: key is given twice (first on line 1)"),
        ("m:\n  a: 1\n  a: 1\n", "f:3: m.a: key is given twice (first on line 2)"),
        ("m:\n  1: x\n", "f:2: m: keys must be text, got 1"),
        ("m:\n  ~: x\n", "f:2: m: keys must be text, got ~"),
        ("m:\n  [a]: x\n", "f:2: m: keys must be text, got a sequence"),
        ("m: {<<: 3}\n", "f:1: m: '<<' merges mappings only"),
        ("a: 1\n---\nb: 2\n", "f:2: not valid YAML: but found another document"),
        ("a: [1, 2\nb: 3\n", "f:2: not valid YAML: expected ',' or ']', but got ':'"),
        ("a: *x\n", "f:1: not valid YAML: found undefined alias 'x'"),
        ("a:\n\tb: 1\n", "f:2: not valid YAML: found character '\\t' that cannot start any token"),
    ],
)
def test_what_is_not_yaml_is_reported_with_its_line(text, message):
    with pytest.raises(SpecError) as caught:
        parse(text, "f")
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["a: \x01\n", f"a: {'9' * 5000}\n", "%YAML 9.9\n---\na: 1\n"])
def test_odd_bytes_numbers_and_versions_are_one_clear_line(text):
    with pytest.raises(SpecError, match="not ") as caught:
        parse(text, "f")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch ran']",
        "!!python/object:os.path {x: 1}",
        "!!python/name:os.system x",
        "!!set {x, y}",
        "!!omap [x: 1]",
        "!!binary aGk=",
        "!mine 3",
    ],
)
def test_tags_are_refused_and_nothing_is_constructed(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=r"^f:1: a: tag '.*' is not supported$"):
        parse(f"a: {value}\n", "f")
    assert list(tmp_path.iterdir()) == []


def bomb(merge: bool) -> str:
    """Nine levels, each ten times the one below: 10^10 entries if nobody stops it."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, 11):
        ten = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} {{{'<<' if merge else 'x'}: [{ten}]}}")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(merge=False), "more than 200000 entries, anchors expanded"),
        (bomb(merge=True), "more than 200000 entries, anchors expanded"),
        ("a: &a [*a]\n", "nested more than 50 deep"),
        ("a: &a {b: *a}\n", "nested more than 50 deep"),
        ("a: &a {<<: *a}\n", "nested more than 50 deep"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 50 deep"),
        ("a: " + "[" * 3000, "nested"),
    ],
)
def test_anchor_bombs_and_deep_nesting_stop_quickly(text, message):
    start = time.monotonic()
    with pytest.raises(SpecError, match=message):
        parse(text, "f")
    assert time.monotonic() - start < 30  # without a stop: hours, or all memory


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    def fault(path: Path) -> str:
        with pytest.raises(SpecError) as caught:
            load(path)
        return str(caught.value).removeprefix(str(tmp_path))

    assert fault(tmp_path / "absent.yaml") == (
        "/absent.yaml: cannot read: No such file or directory"
    )
    assert fault(tmp_path) == ": cannot read: Is a directory"

    latin = tmp_path / "latin.yaml"
    latin.write_bytes("a: 1\nb: caf\u00e9\n".encode("latin-1"))
    assert fault(latin).startswith("/latin.yaml:2: is not UTF-8 text: ")

    monkeypatch.setattr(strict_yaml, "MAX_BYTES", 100)
    large = tmp_path / "large.yaml"
    large.write_text("a: " + "x" * 97)
    assert load(large).data == {"a": "x" * 97}
    large.write_text("a: " + "x" * 98)
    assert fault(large) == "/large.yaml: file is larger than 100 bytes"


def test_load_reads_utf8_with_and_without_a_byte_order_mark(tmp_path):
    file = tmp_path / "f.yaml"
    for prefix in ("", "\ufeff"):
        file.write_text(f"{prefix}a: \u00b5\n", encoding="utf-8")
        assert load(str(file)).data == {"a": "\u00b5"}


def test_dotted_path():
    assert dotted_path(("a", "b", 2, "c")) == "a.b[2].c"
    assert dotted_path(()) == ""
    assert dotted_path((0, "a")) == "[0].a"


def test_did_you_mean_without_a_near_name_lists_the_valid_ones():
    assert did_you_mean("samples", ["sample", "other"]) == (
        "; did you mean 'sample'? (valid: other, sample)"
    )
    assert did_you_mean("zzz", ["b", "a"]) == " (valid: a, b)"
