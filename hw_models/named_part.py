"""Marks the places of an accelerator file that may name a part file instead of spelling it out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

PARTS = Path(__file__).parent / "parts"


@dataclass(frozen=True)
class NamedPart:
    """Type annotation: the value is a mapping, or the name of a file in `parts/<directory>/`."""

    directory: str

    @property
    def names(self) -> list[str]:
        """The part files on offer, without `.yaml`."""
        return sorted(file.stem for file in (PARTS / self.directory).glob("*.yaml"))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        # no enumeration of names: a user's own part is named by its path
        name = {
            "type": "string",
            "description": f"a part in hw_models/parts/{self.directory}, or a path to a .yaml file",
        }
        return {"anyOf": [handler(schema), name]}
