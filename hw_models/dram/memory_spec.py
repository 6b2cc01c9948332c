"""A memory: its organisation, address mapping, timing, refresh and energy, from a YAML file."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from hw_models.dram.address_mapping import AddressMapping
from hw_models.dram.energy import DramEnergy
from hw_models.dram.organisation import MAX_BANKS, Organisation
from hw_models.dram.timing_set import Refresh, TimingSet
from hw_models.problems import KeyPath, Problem, SpecError, did_you_mean
from hw_models.strict_yaml import load, validate

PRESETS = Path(__file__).parent / "presets"


class DramSpec(BaseModel):
    """One memory as the simulator takes it; `load_dram` reads and checks one.

    name: of the part or of its class. source, confidence of numbers stand beside them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    source: str = Field(min_length=1)
    organisation: Organisation
    mapping: AddressMapping
    timing: TimingSet
    refresh: Refresh
    energy: DramEnergy

    @property
    def peak_bytes_per_s(self) -> float:
        """All channels' data buses without a gap."""
        burst_s = self.timing.tBL * self.timing.tCK_ps * 1e-12
        return self.organisation.channels * self.organisation.burst_bytes / burst_s

    @property
    def refresh_units(self) -> int:
        """Refresh commands per rank and tREFI."""
        return self.refresh.units(self.organisation.bank_groups, self.organisation.banks_per_group)


def faults(spec: DramSpec) -> list[tuple[KeyPath, str]]:
    """Return (key path, message) for what does not fit together in a memory."""
    organisation, refresh = spec.organisation, spec.refresh
    found: list[tuple[KeyPath, str]] = [
        (("mapping", field) if field else ("mapping",), message)
        for field, message in spec.mapping.faults(organisation)
    ]
    if organisation.burst_bytes > organisation.row_bytes:
        found.append((
            ("organisation", "row_bytes"),
            f"is {organisation.row_bytes}, shorter than a burst; the smallest value that works is "
            f"{organisation.burst_bytes}",
        ))
    banks = organisation.ranks * organisation.banks
    if banks > MAX_BANKS:
        message = f"a channel has {banks} banks; at most {MAX_BANKS} work"
        found.append((("organisation",), message))
    # one refresh of a rank waits for the one before it
    busy = spec.refresh_units * (refresh.tRFC + spec.timing.tRP)
    if busy >= refresh.tREFI:
        found.append((
            ("refresh", "tREFI"),
            f"is {refresh.tREFI}, but {spec.refresh_units} refresh commands take {busy} cycles; "
            f"the smallest value that works is {busy + 1}",
        ))
    return found


def check(spec: DramSpec) -> None:
    """Raise `SpecError` for a memory whose parts do not fit together."""
    found = faults(spec)
    if found:
        raise SpecError(Problem(message, path=path) for path, message in found)


def dram_names() -> tuple[str, ...]:
    """Return the names of the memories that ship with the package, sorted."""
    return tuple(sorted(file.stem for file in PRESETS.glob("*.yaml")))


def load_dram(name_or_path: str | Path) -> DramSpec:
    """Read a memory: a name in `hw_models/dram/presets`, or a path to a YAML file.

    Raises `SpecError` with file, line and dotted path for each fault, and with the nearest name
    for an unknown one.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith((".yaml", ".yml")) or "/" in text:
        file = Path(name_or_path)
    else:
        names = dram_names()
        if text not in names:
            raise SpecError(Problem(f"no memory '{text}'{did_you_mean(text, names)}"))
        file = PRESETS / f"{text}.yaml"
    document = load(file)
    spec = validate(document, DramSpec)
    found = faults(spec)
    if found:
        raise SpecError(document.problem(path, message) for path, message in found)
    return spec
