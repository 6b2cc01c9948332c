"""What an accelerator file may say about its pipeline and the memory behind it."""

import re
import shutil

import pytest

from hw_models.catalogue import ACCELERATORS, accelerator_names, load_accelerator
from hw_models.dram import load_dram
from hw_models.dram.memory_spec import PRESETS
from hw_models.named_part import PARTS
from hw_models.problems import SpecError

NAME = "edge_stages_bf16_7nm_lpddr5"
PIPELINES = [name for name in accelerator_names() if load_accelerator(name).pipeline]


def written(tmp_path, accelerator=(), **parts):
    """The accelerator with parts of its own: part -> (old text, new text)."""
    text = (ACCELERATORS / f"{NAME}.yaml").read_text(encoding="utf-8")
    for part, change in parts.items():
        (line,) = re.findall(rf"^{part}: (\w+)$", text, re.MULTILINE)
        source = (PARTS / part / f"{line}.yaml").read_text(encoding="utf-8")
        assert change[0] in source
        (tmp_path / f"{part}.yaml").write_text(source.replace(*change, 1), encoding="utf-8")
        text = text.replace(f"{part}: {line}", f"{part}: {part}.yaml")
    if accelerator:
        assert accelerator[0] in text
        text = text.replace(*accelerator)
    file = tmp_path / "machine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("pipeline", ("queue: 64", "queue: 0"), "pipeline.yaml:9: queue: input should be greater "
                                                "than or equal to 1; got 0"),
        ("pipeline", ("stream: 4\n", "stream: 0\n"), "in_flight.stream: input should be greater"),
        ("pipeline", ("scores: 8192", "score: 8192"), "did you mean 'scores'?"),
        ("pipeline", ("page: open", "page: ajar"), "page: "),
        ("pipeline", ("unit: s,", "unit: ns,"), "unit must be 's', got 'ns'"),
        ("pipeline", ("resident: 2", "resident: 2\nresidents: 2"), "unknown key"),
        ("memory", ("preset: lpddr5_6400", "preset: lpddr5_640"),
         "did you mean 'lpddr5_6400'?"),
        ("memory", ("copies: 2", "copies: 3"), "dram.copies: "),
        ("memory", ("copies: 2", "copies: 4"), "machine.yaml"),
        ("memory", ("copies: 2", "copies: 4"),
         "moves 2.048e+11 B/s at its peak, but peak_bandwidth is 1.024e+11"),
        ("memory", ("row_bytes: 2048", "row_bytes: 1024"),
         "has row_bytes 2048, but the memory says 1024"),
        ("memory", ("dram: {preset: lpddr5_6400, copies: 2}", ""),
         "memory: names no dram, which the pipeline needs behind its engines"),
        ("arithmetic", ("    phases: [sample]\n", ""),
         "a stage of a pipeline owns its units, so a unit serves one phase; got all"),
        ("arithmetic", ("phases: [sample]", "phases: [sample, value]"),
         "so a unit serves one phase; got sample, value"),
    ],
)
def test_a_pipeline_that_cannot_work_is_refused_with_its_place(tmp_path, part, change, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        load_accelerator(written(tmp_path, **{part: change}))


def test_a_pipeline_needs_a_buffer(tmp_path):
    file = written(tmp_path, accelerator=("buffer: sram_4mib_7nm_staging\n", ""))
    with pytest.raises(SpecError, match=r"pipeline: the accelerator has no buffer that could hold"):
        load_accelerator(file)


def test_a_memory_of_ones_own_is_named_by_its_path(tmp_path):
    # like a part: relative to the file that names it
    shutil.copy(PRESETS / "lpddr5_6400.yaml", tmp_path / "mine.yaml")
    file = written(tmp_path, memory=("preset: lpddr5_6400", "preset: mine.yaml"))
    assert load_accelerator(file).memory.dram.preset == str(tmp_path / "mine.yaml")


@pytest.mark.parametrize("name", PIPELINES)
def test_the_memory_in_time_is_that_of_the_closed_forms(name):
    memory = load_accelerator(name).memory
    spec = load_dram(memory.dram.preset)
    assert memory.dram.copies * spec.peak_bytes_per_s == pytest.approx(
        memory.peak_bandwidth.value, rel=0.03
    )
    assert memory.capacity_bytes <= 2 * memory.dram.copies * spec.organisation.capacity_bytes


def test_the_pipelines_differ_in_memory_alone():
    first, *others = (load_accelerator(name) for name in PIPELINES)
    assert len(others) == 2
    for other in others:
        differing = {field for field in type(first).model_fields
                     if getattr(first, field) != getattr(other, field)}
        assert differing <= {"name", "title", "description", "memory", "accounts"}
