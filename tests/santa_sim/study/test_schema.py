import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from santa_sim.study.load import load_study
from santa_sim.study.memory_spec import load_memory_study
from santa_sim.study.schema import file_schema

ROOT = Path(__file__).parents[3]
STUDIES = sorted((ROOT / "studies").glob("*.yaml"))


def test_the_committed_schema_is_current():
    committed = (ROOT / "schemas" / "study.schema.json").read_text(encoding="utf-8")
    assert json.loads(committed) == file_schema(), (
        "run: python -m santa_sim.study --schema > schemas/study.schema.json"
    )


def test_the_program_prints_the_schema():
    run = subprocess.run([sys.executable, "-m", "santa_sim.study", "--schema"],
                         capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == file_schema()


@pytest.mark.parametrize("path", STUDIES, ids=lambda p: p.stem)
def test_every_shipped_study_satisfies_schema_and_program(path):
    jsonschema.validate(YAML(typ="safe").load(path.read_text(encoding="utf-8")), file_schema())
    is_memory = "level: memory" in path.read_text(encoding="utf-8")
    assert (load_memory_study if is_memory else load_study)(path).study.name == path.stem


def test_the_schema_refuses_what_the_program_refuses():
    text = (ROOT / "studies" / "quickstart.yaml").read_text(encoding="utf-8")
    for old, new in (("samples: 1024", "samples: 0"), ("scale: power", "scale: powr"),
                     ("kind: capture", "kind: captured"), ("seeds:", "sedes:")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(YAML(typ="safe").load(text.replace(old, new)), file_schema())
    text = (ROOT / "studies" / "dram_scatter.yaml").read_text(encoding="utf-8")
    for old, new in (("[32,", "[0,"), ("memories:", "memorys:"), ("level: memory", "level: mem")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(YAML(typ="safe").load(text.replace(old, new)), file_schema())
