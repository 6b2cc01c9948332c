"""The JSON schema of every kind of study file, for editors."""

from __future__ import annotations

from typing import Any

from santa_sim.study.memory_spec import MemoryStudy
from santa_sim.study.spec import study_schema


def file_schema() -> dict[str, Any]:
    """Return the schema of a study file; `level: memory` makes it a study of memories alone."""
    attention = study_schema()
    memory = MemoryStudy.model_json_schema()
    return {
        "$schema": attention.pop("$schema"), "title": "Study",
        "if": {"properties": {"level": {"const": "memory"}}, "required": ["level"]},
        "then": memory, "else": attention, "$defs": attention.pop("$defs"),
    }
