"""From a decode call to the launches that the time model prices."""

from __future__ import annotations

from collections.abc import Callable

from gpu_kernels.launches.bernoulli_qk import bernoulli_flash_passes, bernoulli_passes
from gpu_kernels.launches.call import DecodeCall, Pass
from gpu_kernels.launches.dense import dense_passes
from gpu_kernels.launches.s2anta_comb import comb_passes
from gpu_kernels.launches.s2anta_flash import flash_passes
from gpu_kernels.launches.s2anta_prop import prop_passes
from gpu_kernels.split_plan import DeviceLimits

Describe = Callable[[DecodeCall, DeviceLimits], list[Pass]]

PASSES: dict[str, Describe] = {
    "dense": dense_passes,
    "s2anta_flash": flash_passes,
    "s2anta_comb": comb_passes,
    "s2anta_prop": prop_passes,
    "bernoulli_qk": bernoulli_passes,
    "bernoulli_qk_flash": bernoulli_flash_passes,
}
"""Kernel -> what a call of it launches, by its own plan rule."""


def passes(call: DecodeCall, limits: DeviceLimits) -> list[Pass]:
    """Return the kernels of a call in order, on a GPU of these limits."""
    return PASSES[call.kernel](call, limits)
