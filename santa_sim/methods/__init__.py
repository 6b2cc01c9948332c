"""Attention methods: what to run (`method`), and running it on the CPU (`decode`)."""

from santa_sim.methods.decode import Decoded, DrawnRows, decode
from santa_sim.methods.expected import Expected, expect
from santa_sim.methods.spec import METHOD_NAMES, UNBIASED, label, method

__all__ = [
    "METHOD_NAMES",
    "UNBIASED",
    "Decoded",
    "DrawnRows",
    "Expected",
    "decode",
    "expect",
    "label",
    "method",
]
