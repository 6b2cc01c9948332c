"""A machine in time: engines, units and buffers between them, over a memory that is simulated."""

from hw_models.pipeline.machine import Machine
from hw_models.pipeline.perfetto import write_trace
from hw_models.pipeline.power import PowerCurve, power_curve
from hw_models.pipeline.report import PipelineReport, TrackUse
from hw_models.pipeline.simulation import simulate
from hw_models.pipeline.work import Schedule, Step, Transfer

__all__ = [
    "Machine",
    "PipelineReport",
    "PowerCurve",
    "Schedule",
    "Step",
    "TrackUse",
    "Transfer",
    "power_curve",
    "simulate",
    "write_trace",
]
