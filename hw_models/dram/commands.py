"""The commands that a DRAM channel takes, and the record of a run's commands."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Command(IntEnum):
    """A command on a channel's command bus.

    AUTO_PRECHARGE is what a column command of the closed-page policy announces: it happens in the
    bank at its first legal cycle and takes no slot on the bus.
    """

    ACTIVATE = 0
    PRECHARGE = 1
    READ = 2
    WRITE = 3
    REFRESH = 4
    AUTO_PRECHARGE = 5


COMMAND = np.dtype([
    ("cycle", np.int64), ("kind", np.int64), ("bank", np.int64), ("row", np.int64),
    ("request", np.int64),
])
"""One command. bank: (rank·bank_groups + bank_group)·banks_per_group + bank; of a refresh, the
first bank of the unit. row, request: -1 where the command has none; requests are counted in the
order in which they reach the channel."""
