import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hw_models.catalogue import (
    ACCELERATORS,
    accelerator_names,
    accelerator_schema,
    load_accelerator,
)
from hw_models.strict_yaml import load

SCHEMA_FILE = Path(__file__).parents[2] / "schemas" / "accelerator.schema.json"
NAMES = accelerator_names()


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_schema_file_is_what_the_models_say():
    # python -m hw_models.catalogue --schema > schemas/accelerator.schema.json
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == accelerator_schema()


def test_the_module_prints_the_schema_and_refuses_other_arguments():
    command = [sys.executable, "-m", "hw_models.catalogue"]
    printed = subprocess.run([*command, "--schema"], capture_output=True, text=True, check=True)
    assert printed.stdout == SCHEMA_FILE.read_text(encoding="utf-8")
    refused = subprocess.run([*command, "--scheme"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr == "usage: python -m hw_models.catalogue --schema\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_file_names_the_schema_and_fulfils_it(name, validator):
    file = ACCELERATORS / f"{name}.yaml"
    first = file.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../../schemas/accelerator.schema.json"
    assert (file.parent / "../../schemas/accelerator.schema.json").resolve() == SCHEMA_FILE
    validator.validate(load(file).data)


@pytest.mark.parametrize("name", NAMES)
def test_an_accelerator_with_its_parts_spelt_out_fulfils_the_schema_too(name, validator):
    whole = load_accelerator(name).model_dump(mode="json", exclude_none=True)
    assert isinstance(whole["memory"], dict)
    validator.validate(whole)


@pytest.mark.parametrize("change", [
    {"memori": "h200_sxm_hbm3e"}, {"memory": 5}, {"node_nm": -7}, {"accounts": {}},
])
def test_the_schema_refuses_what_the_reader_refuses(change, validator):
    data = load(ACCELERATORS / "h200_sxm.yaml").data
    assert not validator.is_valid({**data, **change})
