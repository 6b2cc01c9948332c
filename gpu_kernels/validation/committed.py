"""The calibrations and measurements that ship, by accelerator of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True)
class Committed:
    """Files of one GPU: calibration; timed and counted attention kernels, None where it has none.

    capability: compute capability, for which kernels were compiled and counted.
    """

    capability: tuple[int, int]
    calibration: Path
    measurements: Path

    @property
    def decode(self) -> Path | None:
        """The newest bench file."""
        return self._newest("decode")

    @property
    def energy(self) -> Path | None:
        """The newest bench file with energy."""
        return self._newest("energy")

    @property
    def opened_last(self) -> Path | None:
        """The newest bench file that nobody looked at while the model was built (`unseen`)."""
        return self._newest("validation")

    @property
    def timed(self) -> list[Path]:
        """All bench files of attention kernels."""
        return [file for file in (self.decode, self.energy, self.opened_last) if file is not None]

    @property
    def counted(self) -> Path | None:
        """The newest file of counted bytes."""
        return self._newest("counted_bytes")

    def _newest(self, kind: str) -> Path | None:
        # their names start with the date: ten characters
        return max(self.measurements.glob(f"??????????_{kind}.csv"), default=None)


CALIBRATED: dict[str, Committed] = {
    "h200_sxm": Committed((9, 0), PACKAGE / "calibrations" / "h200.yaml",
                          PACKAGE / "measurements" / "h200"),
}
"""Accelerator -> what was measured on it."""
