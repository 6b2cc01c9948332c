"""Decode attention in time: exact rows become transfers and operations of a pipeline."""

from santa_sim.event.layout import KvLayout
from santa_sim.event.plan import Plan, plan
from santa_sim.event.run import Sizes, memory_of, run
from santa_sim.event.tiles import StepShape

__all__ = ["KvLayout", "Plan", "Sizes", "StepShape", "memory_of", "plan", "run"]
