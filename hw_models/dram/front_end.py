"""From addresses to channels, and the sources that feed them."""

from __future__ import annotations

import numpy as np
from numba import njit

from hw_models.dram.scheduler import advance
from hw_models.dram.scheduler_state import NEVER, Now

# typed, since Numba compiles `advance` anew for each plain constant that it is called with
FOREVER, BEFORE_FOREVER = np.int64(NEVER), np.int64(NEVER - 1)
ALL, TO_ROOM = np.int64(0), np.int64(1)


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
def distribute(arrival, address, is_write, pieces, channel, place, traffic):  # type: ignore[no-untyped-def]
    """Write the requests channel by channel, each in order of arrival, into `traffic`.

    pieces: `AddressMapping.pieces`. channel: int32 [n], written: where each request goes; place:
    int64 [n], written: where it stands in `traffic`. traffic.start: zeros.
    """
    bank, row = np.empty_like(channel), np.empty_like(channel)
    start = traffic.start
    for i in range(address.shape[0]):
        to_channel = to_bank = to_row = 0
        for p in range(pieces.shape[0]):
            bits = (address[i] >> pieces[p, 1] & pieces[p, 2]) << pieces[p, 3]
            if pieces[p, 0] == 0:
                to_channel |= bits
            elif pieces[p, 0] == 1:
                to_bank |= bits
            else:
                to_row |= bits
        channel[i], bank[i], row[i] = to_channel, to_bank, to_row
        start[to_channel + 1] += 1
    for c in range(1, start.shape[0]):
        start[c] += start[c - 1]
    free = start[:-1].copy()
    for i in range(address.shape[0]):
        k = free[channel[i]]
        free[channel[i]] = k + 1
        place[i] = k
        traffic.arrival[k], traffic.bank[k], traffic.row[k] = arrival[i], bank[i], row[i]
        traffic.is_write[k] = is_write[i]


@njit(cache=True, nogil=True, _nrt=False)
def run_each_channel(rules, channels, traffic, logs):  # type: ignore[no-untyped-def]
    """Serve all requests, each channel fed by a source of its own."""
    for c in range(channels.now.shape[0]):
        channels.now[c, Now.KNOWN] = traffic.start[c + 1] - traffic.start[c]
        advance(rules, channels, c, traffic, logs[c], FOREVER, ALL)


@njit(cache=True, nogil=True, _nrt=False)
def run_in_order(rules, channels, traffic, logs, channel, place, arrival, per_cycle):  # type: ignore[no-untyped-def]
    """Serve all requests from one source, which waits for the queue of its next request.

    channel, place: of `distribute`; arrival: when each request was there to be issued. Its arrival
    at its channel is the cycle in which the source issues it.
    """
    t, issued = 0, 0
    for i in range(channel.shape[0]):
        c = channel[i]
        if arrival[i] > t:
            t, issued = arrival[i], 0
        elif issued == per_cycle:
            t, issued = t + 1, 0
        # a queue that is full but for requests not yet admitted is full
        advance(rules, channels, c, traffic, logs[c], t, ALL)
        advance(rules, channels, c, traffic, logs[c], BEFORE_FOREVER, TO_ROOM)
        if channels.now[c, Now.CYCLE] > t:
            t, issued = channels.now[c, Now.CYCLE], 0
        traffic.arrival[place[i]] = t
        channels.now[c, Now.KNOWN] += 1
        issued += 1
    for c in range(channels.now.shape[0]):
        advance(rules, channels, c, traffic, logs[c], FOREVER, ALL)


@njit(cache=True, nogil=True, _nrt=False)
def run_until(rules, channels, traffic, logs, end):  # type: ignore[no-untyped-def]
    """Let idle channels refresh on until cycle `end`."""
    for c in range(channels.now.shape[0]):
        advance(rules, channels, c, traffic, logs[c], end, ALL)
