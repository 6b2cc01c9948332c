"""Runs a plan on the pipeline of an accelerator, with sizes that a study may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hw_models.accelerator import Accelerator
from hw_models.dram import DramSpec, Page, Policy, load_dram
from hw_models.dram.copies import side_by_side
from hw_models.pipeline import Machine, PipelineReport, simulate
from hw_models.problems import Problem, SpecError, did_you_mean
from santa_sim.event.plan import Plan

ENGINES = ("stream", "gather")


@dataclass(frozen=True)
class Sizes:
    """What a study changes of a machine; what is not given stays as the accelerator says.

    rates: unit -> op/s. depth: every buffer between two stages holds so many of its largest tiles,
    and every engine has so many transfers in flight.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    depth: int | None = None


def memory_of(accelerator: Accelerator) -> DramSpec:
    """Return the simulated memory behind an accelerator; `SpecError` if it names none."""
    behind = accelerator.memory.dram
    if behind is None or accelerator.pipeline is None:
        raise SpecError(Problem(
            f"{accelerator.name} has no pipeline, so it cannot be simulated in time; the event "
            "level takes accelerators with `pipeline` and `memory.dram`"
        ))
    return side_by_side(load_dram(behind.preset), behind.copies)


def machine_of(
    accelerator: Accelerator, memory: DramSpec, plan: Plan, sizes: Sizes
) -> Machine:
    """Return the machine that runs a plan: the accelerator's sizes, with those of the study."""
    pipeline, units = accelerator.pipeline, accelerator.arithmetic.units
    if pipeline is None or accelerator.buffer is None:
        raise ValueError(f"{accelerator.name} has no pipeline")
    for unit in sizes.rates:
        if unit not in units:
            near = did_you_mean(unit, units)
            raise SpecError(Problem(f"no unit '{unit}'{near}", path=("rates",)))
    largest = plan.schedule.largest
    buffers = pipeline.buffers.model_dump()
    in_flight = pipeline.in_flight.model_dump()
    if sizes.depth is not None:
        buffers = {name: sizes.depth * largest.get(name, 1) for name in buffers}
        in_flight = dict.fromkeys(ENGINES, sizes.depth)
    return Machine(
        rates={name: unit.rate.value for name, unit in units.items()} | dict(sizes.rates),
        buffers=buffers | {"resident": pipeline.resident * largest.get("resident", 1)},
        sram_bytes=accelerator.buffer.capacity_bytes,
        memory=memory, in_flight=in_flight, policy=Policy(page=Page(pipeline.page)),
        queue=pipeline.queue, path_s=pipeline.path.value,
    )


def run(
    plan: Plan, accelerator: Accelerator, memory: DramSpec, sizes: Sizes | None = None,
    memory_alone_s: float | None = None,
) -> PipelineReport:
    """Simulate a plan on an accelerator; raises `SpecError` where a size cannot work.

    memory_alone_s: of an earlier run of the same plan, which has the same.
    """
    machine = machine_of(accelerator, memory, plan, sizes or Sizes())
    return simulate(plan.schedule, machine, memory_alone_s)
