"""Simulates a memory in time: requests in, completion times, statistics and energy out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hw_models.dram.channel_commands import due_cycle
from hw_models.dram.commands import COMMAND
from hw_models.dram.delays import delays
from hw_models.dram.energy import EnergyReport, energy_of
from hw_models.dram.front_end import (
    distribute,
    first_fault,
    run_each_channel,
    run_in_order,
    run_until,
)
from hw_models.dram.memory_spec import DramSpec, check, load_dram
from hw_models.dram.organisation import Organisation
from hw_models.dram.policy import Page, Policy, check_queue
from hw_models.dram.requests import REQUEST
from hw_models.dram.scheduler import Rules, Traffic
from hw_models.dram.scheduler_state import NEVER, Channels, Integers, Now, fresh_channels
from hw_models.dram.statistics import ChannelStatistics, statistics_of
from hw_models.dram.timing_set import Refresh, RefreshScope
from hw_models.problems import Problem, SpecError


@dataclass(frozen=True)
class DramReport:
    """What a memory did with its requests.

    channels: counts per channel, `channels.total` over all. energy: of all channels over the run.
    done_cycle: int64 [n], the cycle after the last bit of each request. commands: per channel, in
    order of cycle, `COMMAND` records; None unless recorded.
    """

    spec: DramSpec
    policy: Policy
    queue: int
    channels: ChannelStatistics
    energy: EnergyReport
    done_cycle: NDArray[np.int64]
    commands: tuple[NDArray[np.void], ...] | None = None

    @property
    def time_s(self) -> float:
        """From cycle 0 to the last bit."""
        return self.channels.time_s

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes moved by all channels over the time of the run."""
        return float(self.channels.bandwidth_bytes_per_s.sum())


def simulate(
    memory: DramSpec | str | Path,
    requests: NDArray[np.void],
    *,
    policy: Policy | None = None,
    queue: int = 64,
    record_commands: bool = False,
) -> DramReport:
    """Serve requests, one burst each, and report time, statistics and energy.

    memory: a spec, or what `load_dram` takes. requests: structured array with the fields of
    `REQUEST`, in order of arrival. policy: open page by default; queue: requests that each
    channel's scheduler sees. The run goes from cycle 0 to the last bit; refresh goes on to its end.
    Raises `SpecError` for a bad spec, a queue of 0, a request out of order or outside the memory.
    """
    spec = memory if isinstance(memory, DramSpec) else load_dram(memory)
    check(spec)
    check_queue(queue)
    policy = policy or Policy()
    arrival, address, is_write = _fields(requests, spec.organisation)
    capacity = 8 * len(address) + 1024 if record_commands else 0
    while True:
        run = _run(spec, policy, queue, arrival, address, is_write, capacity)
        most = int(run.channels.now[:, Now.LOGGED].max())
        if not record_commands or most <= capacity:
            break
        capacity = 2 * most
    counts = statistics_of(
        run.channels, run.cycles, spec.timing.tCK_ps, spec.organisation.burst_bytes
    )
    return DramReport(
        spec=spec,
        policy=policy,
        queue=queue,
        channels=counts,
        energy=energy_of(counts, spec.energy, spec.timing.tCK_ps, spec.organisation.ranks),
        done_cycle=run.done,
        commands=_commands(run) if record_commands else None,
    )


@dataclass(frozen=True)
class _Run:
    channels: Channels
    cycles: int
    done: Integers
    logs: Integers


def rules_of(spec: DramSpec, policy: Policy) -> Rules:
    """Return a spec and a policy as the numbers that the scheduler works with."""
    return Rules(
        delays=delays(spec.timing),
        ranks=spec.organisation.ranks,
        banks=spec.organisation.banks,
        banks_per_group=spec.organisation.banks_per_group,
        units=spec.refresh_units,
        t_refi=spec.refresh.tREFI,
        t_rfc=spec.refresh.tRFC,
        max_postponed=spec.refresh.max_postponed,
        closed=int(policy.page == Page.CLOSED),
        starvation_cap=policy.starvation_cap,
        two_buses=int(spec.timing.command_buses == 2),
    )


def closed_channels(spec: DramSpec, rules: Rules, queue: int) -> Channels:
    """Return the state of all channels before cycle 0."""
    shape = spec.organisation
    return fresh_channels(
        shape.channels, shape.ranks, queue, unit_of_bank(shape, spec.refresh),
        np.array([due_cycle(rules, r, 0) for r in range(shape.ranks)]),
    )


def unit_of_bank(organisation: Organisation, refresh: Refresh) -> Integers:
    """Return int64 [banks per rank]: which refresh command of a round refreshes each bank."""
    bank = np.arange(organisation.banks)
    return {
        RefreshScope.ALL_BANK: np.zeros_like(bank),
        RefreshScope.SAME_BANK: bank % organisation.banks_per_group,
        RefreshScope.PER_BANK: bank,
    }[refresh.scope]


def _fields(
    requests: NDArray[np.void], organisation: Organisation
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    names = requests.dtype.names or ()
    missing = [name for name in REQUEST.names or () if name not in names]
    if missing:
        raise SpecError(Problem(f"requests lack the field {missing[0]}", path=("requests",)))
    for name in ("arrival_cycle", "address"):
        if not np.issubdtype(requests.dtype[name], np.integer):
            message = f"must be whole numbers, got {requests.dtype[name]}"
            raise SpecError(Problem(message, path=("requests", name)))
    if requests.ndim != 1:
        message = f"requests must have one dimension, got {requests.ndim}"
        raise SpecError(Problem(message, path=("requests",)))
    arrival = np.ascontiguousarray(requests["arrival_cycle"], np.int64)
    address = np.ascontiguousarray(requests["address"], np.int64)
    is_write = np.ascontiguousarray(requests["is_write"], np.bool_)
    capacity = organisation.capacity_bytes
    i = first_fault(arrival, address, capacity)
    if i < len(requests):
        where = ("requests", int(i))
        if not 0 <= address[i] < capacity:
            message = f"address {address[i]} is outside the memory's 0 .. {capacity - 1}"
            raise SpecError(Problem(message, path=(*where, "address")))
        before = int(arrival[i - 1]) if i else 0
        message = f"arrives at cycle {arrival[i]}; it must be within {before} .. {NEVER >> 2}"
        raise SpecError(Problem(message, path=(*where, "arrival_cycle")))
    return arrival, address, is_write


def _run(
    spec: DramSpec, policy: Policy, queue: int, arrival: Integers, address: Integers,
    is_write: NDArray[np.bool_], log_capacity: int,
) -> _Run:
    shape, n = spec.organisation, len(address)
    rules = rules_of(spec, policy)
    channels = closed_channels(spec, rules, queue)
    traffic = Traffic(
        start=np.zeros(shape.channels + 1, np.int64),
        arrival=np.empty(n, np.int64),
        bank=np.empty(n, np.int32),
        row=np.empty(n, np.int32),
        is_write=np.empty(n, np.bool_),
        done=np.empty(n, np.int64),
    )
    channel, place = np.empty(n, np.int32), np.empty(n, np.int64)
    distribute(arrival, address, is_write, spec.mapping.pieces(shape), channel, place, traffic)
    logs = np.empty((shape.channels, log_capacity, len(COMMAND.names or ())), np.int64)
    if policy.requests_per_cycle is None:
        run_each_channel(rules, channels, traffic, logs)
    else:
        run_in_order(
            rules, channels, traffic, logs, channel, place, arrival, policy.requests_per_cycle
        )
    cycles = int(channels.now[:, Now.BURST_END].max())
    run_until(rules, channels, traffic, logs, cycles)
    return _Run(channels, cycles, traffic.done[place], logs)


def _commands(run: _Run) -> tuple[NDArray[np.void], ...]:
    """Return each channel's commands in order of cycle; announced precharges come in late."""
    found = []
    for log, now in zip(run.logs, run.channels.now, strict=True):
        commands = log[: now[Now.LOGGED]].copy().view(COMMAND)[:, 0]
        found.append(commands[np.argsort(commands["cycle"], kind="stable")])
    return tuple(found)
