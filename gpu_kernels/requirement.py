"""One line for every refused argument: its name, what it must be, what it was."""

from __future__ import annotations

from typing import Any


def require(condition: bool, argument: str, requirement: str, value: Any) -> None:
    """Raise a `ValueError` naming argument, requirement and value unless the condition holds."""
    if not condition:
        raise ValueError(f"{argument}: must be {requirement}, got {value}")
