"""Timing sets as the delays between pairs of commands that both simulators work with."""

from __future__ import annotations

from typing import NamedTuple

from hw_models.dram.timing_set import TimingSet


class Delays(NamedTuple):
    """Least cycles from one command to the next.

    `_l` within a bank group, `_s` within a rank, `_x` between ranks. read_done, write_done: until
    the last bit has crossed the bus; faw: for the fourth, aw32 for the 32nd activation before.
    """

    act_act: int
    act_read: int
    act_write: int
    act_pre: int
    pre_act: int
    act_act_l: int
    act_act_s: int
    faw: int
    aw32: int
    read_pre: int
    write_pre: int
    burst_l: int
    burst_s: int
    burst_x: int
    read_write: int
    read_write_x: int
    write_read_l: int
    write_read_s: int
    write_read_x: int
    read_done: int
    write_done: int


def delays(timing: TimingSet) -> Delays:
    """Return the delays of a timing set, in cycles."""
    t = timing
    return Delays(
        act_act=t.tRC,
        act_read=t.tRCD_RD,
        act_write=t.tRCD_WR,
        act_pre=t.tRAS,
        pre_act=t.tRP,
        act_act_l=t.tRRD_L,
        act_act_s=t.tRRD_S,
        faw=t.tFAW,
        aw32=t.t32AW or 0,
        read_pre=t.tRTP,
        write_pre=t.tCWL + t.tBL + t.tWR,
        burst_l=max(t.tBL, t.tCCD_L),
        burst_s=max(t.tBL, t.tCCD_S),
        burst_x=t.tBL + t.tRTRS,
        read_write=t.tRTW,
        read_write_x=max(1, t.tCL + t.tBL + t.tRTRS - t.tCWL),
        write_read_l=t.tCWL + t.tBL + t.tWTR_L,
        write_read_s=t.tCWL + t.tBL + t.tWTR_S,
        write_read_x=max(1, t.tCWL + t.tBL + t.tRTRS - t.tCL),
        read_done=t.tCL + t.tBL,
        write_done=t.tCWL + t.tBL,
    )
