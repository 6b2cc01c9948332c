"""From addresses to channels, and the sources that feed them."""

from __future__ import annotations

import numpy as np
from numba import njit

from hw_models.dram.address_mapping import FIELDS
from hw_models.dram.scheduler import advance
from hw_models.dram.scheduler_state import NEVER, Now

FIELD_COUNT = len(FIELDS)
COLUMN, CHANNEL, RANK, GROUP, BANK, ROW = (
    FIELDS.index(name) for name in ("column", "channel", "rank", "bank_group", "bank", "row")
)


@njit(cache=True, nogil=True)
def first_fault(arrival, address, capacity):  # type: ignore[no-untyped-def]
    """Return the index of the first request before its predecessor or off the memory, or n."""
    previous = 0
    for i in range(arrival.shape[0]):
        if arrival[i] < previous or arrival[i] >= NEVER >> 2:
            return i
        if address[i] < 0 or address[i] >= capacity:
            return i
        previous = arrival[i]
    return arrival.shape[0]


@njit(cache=True, nogil=True)
def locate(address, pieces, groups, banks_per_group, channel, bank, row):  # type: ignore[no-untyped-def]
    """Write each address's channel, bank of its channel and row.

    pieces: `AddressMapping.pieces`.
    """
    field = np.zeros(FIELD_COUNT, np.int64)
    for i in range(address.shape[0]):
        field[:] = 0
        for p in range(pieces.shape[0]):
            field[pieces[p, 0]] |= (address[i] >> pieces[p, 1] & pieces[p, 2]) << pieces[p, 3]
        channel[i] = field[CHANNEL]
        bank[i] = (field[RANK] * groups + field[GROUP]) * banks_per_group + field[BANK]
        row[i] = field[ROW]


@njit(cache=True, nogil=True)
def sort_by_channel(channel, start, order):  # type: ignore[no-untyped-def]
    """Write the requests' indices channel by channel, each in order of arrival.

    start: int64 [channels + 1], zeros; order: int64 [n].
    """
    for i in range(channel.shape[0]):
        start[channel[i] + 1] += 1
    for c in range(1, start.shape[0]):
        start[c] += start[c - 1]
    place = start[:-1].copy()
    for i in range(channel.shape[0]):
        order[place[channel[i]]] = i
        place[channel[i]] += 1


@njit(cache=True, nogil=True, _nrt=False)
def run_each_channel(rules, channels, traffic, logs):  # type: ignore[no-untyped-def]
    """Serve all requests, each channel fed by a source of its own."""
    for c in range(channels.now.shape[0]):
        channels.now[c, Now.KNOWN] = traffic.start[c + 1] - traffic.start[c]
        advance(rules, channels, c, traffic, logs[c], NEVER, False)


@njit(cache=True, nogil=True, _nrt=False)
def run_in_order(rules, channels, traffic, logs, channel, order_of, arrival, per_cycle):  # type: ignore[no-untyped-def]
    """Serve all requests from one source, which waits for the queue of its next request.

    order_of: where each request stands in `traffic`; arrival: when it was there to be issued.
    A request's arrival at its channel is the cycle in which the source issues it.
    """
    t, issued = 0, 0
    for i in range(channel.shape[0]):
        c = channel[i]
        if arrival[i] > t:
            t, issued = arrival[i], 0
        elif issued == per_cycle:
            t, issued = t + 1, 0
        # a queue that is full but for requests not yet admitted is full
        advance(rules, channels, c, traffic, logs[c], t, False)
        advance(rules, channels, c, traffic, logs[c], NEVER - 1, True)
        if channels.now[c, Now.CYCLE] > t:
            t, issued = channels.now[c, Now.CYCLE], 0
        traffic.arrival[order_of[i]] = t
        channels.now[c, Now.KNOWN] += 1
        issued += 1
    for c in range(channels.now.shape[0]):
        advance(rules, channels, c, traffic, logs[c], NEVER, False)


@njit(cache=True, nogil=True, _nrt=False)
def run_until(rules, channels, traffic, logs, end):  # type: ignore[no-untyped-def]
    """Let idle channels refresh on until cycle `end`."""
    for c in range(channels.now.shape[0]):
        advance(rules, channels, c, traffic, logs[c], end, False)
