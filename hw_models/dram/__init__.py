"""DRAM in time and energy: banks, rows, refresh and a scheduler, one burst at a time."""

from hw_models.dram.memory_spec import DramSpec, dram_names, load_dram
from hw_models.dram.policy import Page, Policy
from hw_models.dram.requests import REQUEST, burst_addresses, make_requests
from hw_models.dram.simulation import DramReport, simulate

__all__ = [
    "REQUEST",
    "DramReport",
    "DramSpec",
    "Page",
    "Policy",
    "burst_addresses",
    "dram_names",
    "load_dram",
    "make_requests",
    "simulate",
]
