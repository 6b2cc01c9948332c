"""Readings of the board: energy counter, power, clocks and why they are held down."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import Any, Protocol

MEMORY_SCOPE = 2
"""NVML_POWER_SCOPE_MEMORY."""


@dataclass(frozen=True)
class Sample:
    """One reading; what the board does not answer is None.

    time_s: host clock. counter_j: energy since the driver was loaded. power_w: of the board, the
    newest the driver has; memory_power_w: of the memory alone. held_down: NVML's bit mask of
    reasons for a lower clock (4: power cap).
    """

    time_s: float
    counter_j: float | None
    power_w: float | None
    memory_power_w: float | None
    sm_clock_mhz: float | None
    memory_clock_mhz: float | None
    temperature_c: float | None
    held_down: int | None


class Meter(Protocol):
    """Something that reads the board."""

    @property
    def reason(self) -> str:
        """Return why a reading is missing, empty if none is."""
        ...

    def sample(self) -> Sample:
        """Return the readings of this moment."""
        ...


class NvmlMeter:
    """Reads through the management library; remembers which questions it refuses, and why."""

    def __init__(self) -> None:
        import pynvml

        self._nvml: Any = pynvml
        pynvml.nvmlInit()
        self._board = pynvml.nvmlDeviceGetHandleByIndex(0)
        self._refused: dict[str, str] = {}

    @property
    def reason(self) -> str:
        """Return the refused questions with the library's answers."""
        return "; ".join(f"{name}: {why}" for name, why in self._refused.items())

    def sample(self) -> Sample:
        """Return the readings of this moment."""
        n, board = self._nvml, self._board
        now = time.perf_counter()
        power = self._field("instant power", "NVML_FI_DEV_POWER_INSTANT", 0)
        if power is None:
            power = self._ask("power", lambda: n.nvmlDeviceGetPowerUsage(board) * 1e-3)
        return Sample(
            now,
            self._ask("energy counter",
                      lambda: n.nvmlDeviceGetTotalEnergyConsumption(board) * 1e-3),
            power,
            self._field("memory power", "NVML_FI_DEV_POWER_AVERAGE", MEMORY_SCOPE),
            self._ask("SM clock", lambda: n.nvmlDeviceGetClockInfo(board, n.NVML_CLOCK_SM)),
            self._ask("memory clock", lambda: n.nvmlDeviceGetClockInfo(board, n.NVML_CLOCK_MEM)),
            self._ask("temperature",
                      lambda: n.nvmlDeviceGetTemperature(board, n.NVML_TEMPERATURE_GPU)),
            self._ask("clock reasons",
                      lambda: n.nvmlDeviceGetCurrentClocksThrottleReasons(board)),
        )

    def _ask(self, name: str, question: Any) -> Any:
        if name in self._refused:
            return None
        try:
            return question()
        except (self._nvml.NVMLError, AttributeError) as error:
            self._refused[name] = str(error)
            return None

    def _field(self, name: str, field: str, scope: int) -> float | None:
        def question() -> float:
            number = getattr(self._nvml, field)
            answer = self._nvml.nvmlDeviceGetFieldValues(self._board, [(number, scope)])[0]
            if answer.nvmlReturn != self._nvml.NVML_SUCCESS:
                raise self._nvml.NVMLError(answer.nvmlReturn)
            return float(answer.value.uiVal) * 1e-3

        found: float | None = self._ask(name, question)
        return found


class SmiMeter:
    """Reads power and clocks through nvidia-smi, which has no energy counter."""

    FIELDS = "power.draw,clocks.sm,clocks.mem,temperature.gpu"

    def __init__(self, why: str) -> None:
        self.reason = f"energy counter: {why}, and nvidia-smi does not print it"

    def sample(self) -> Sample:
        """Return the readings of this moment; takes the tool's start-up time, 0.05 s or more."""
        now = time.perf_counter()
        try:
            # a fixed command, wherever the driver put it
            done = subprocess.run(  # noqa: S603
                ["nvidia-smi", f"--query-gpu={self.FIELDS}", "--format=csv,noheader,nounits",  # noqa: S607
                 "-i", "0"], capture_output=True, text=True, check=True, timeout=20)
        except (OSError, subprocess.SubprocessError) as error:
            self.reason = f"nvidia-smi: {error}"
            return Sample(now, None, None, None, None, None, None, None)
        power, sm, memory, heat = (_number(text) for text in done.stdout.split(","))
        return Sample(now, None, power, None, sm, memory, heat, None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def open_meter() -> Meter:
    """Return the best meter there is; never fails, a reading without answer is None."""
    try:
        return NvmlMeter()
    except ImportError as error:
        return SmiMeter(str(error))
    except Exception as error:  # the library's own errors can only be named once it is imported
        return SmiMeter(f"NVML: {error}")
