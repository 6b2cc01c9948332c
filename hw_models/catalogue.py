"""The accelerators that ship with the package, and how one is read from YAML.

`python -m hw_models.catalogue --schema` prints the JSON schema of an accelerator file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hw_models.accelerator import Accelerator
from hw_models.consistency import faults
from hw_models.constants_table import ConstantRow, constants_used
from hw_models.part_files import read_spec
from hw_models.problems import Problem, SpecError, did_you_mean

__all__ = [
    "ConstantRow",
    "accelerator_names",
    "accelerator_schema",
    "constants_used",
    "load_accelerator",
]

ACCELERATORS = Path(__file__).parent / "accelerators"


def accelerator_names() -> tuple[str, ...]:
    """Return the names in the catalogue, sorted."""
    return tuple(sorted(file.stem for file in ACCELERATORS.glob("*.yaml")))


def load_accelerator(name_or_path: str | Path) -> Accelerator:
    """Read an accelerator: a name in the catalogue, or a path to a YAML file.

    Text counts as a path if it ends in `.yaml` or `.yml` or holds a separator. Raises `SpecError`
    with file, line and dotted path for each fault (`MixedBoundariesError` where an account does
    not compose the boundary of one of its terms), and with the nearest name for an unknown one.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith((".yaml", ".yml")) or "/" in text:
        file = Path(name_or_path)
    else:
        names = accelerator_names()
        if text not in names:
            raise SpecError(Problem(f"no accelerator '{text}'{did_you_mean(text, names)}"))
        file = ACCELERATORS / f"{text}.yaml"
    accelerator, document = read_spec(file, Accelerator)
    for kind, found in faults(accelerator).items():
        if found:
            raise kind(document.problem(path, message) for path, message in found)
    return accelerator


def accelerator_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of an accelerator file."""
    schema = Accelerator.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def main(arguments: list[str]) -> int:
    """Print the schema on stdout; returns the exit status, 2 for wrong arguments."""
    if arguments != ["--schema"]:
        sys.stderr.write("usage: python -m hw_models.catalogue --schema\n")
        return 2
    sys.stdout.write(json.dumps(accelerator_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
