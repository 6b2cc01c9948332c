"""Compile every family's default configuration for some parts; print what came out as JSON.

A program of its own, because Triton's interpreter, which the tests run under, has no compiler.
"""

import json
import sys
from dataclasses import asdict
from functools import partial

import families
import torch

from gpu_kernels.offline_compile import compile_call

BATCH, HEADS, KV_HEADS, DIM, CONTEXT = 4, 32, 8, 128, 32768


def call(name):
    # nothing is run, so the memory is never touched
    q = torch.empty(BATCH, HEADS, DIM, dtype=torch.bfloat16)
    v = torch.empty(BATCH, CONTEXT, KV_HEADS, DIM, dtype=torch.bfloat16)
    k = v if name in families.ROW_MAJOR else v.view(BATCH, KV_HEADS, DIM, CONTEXT)
    arguments = families.own_arguments(name)
    arguments.pop("tile", None)
    if name in families.SAMPLED:
        arguments["samples"] = CONTEXT // (128 if name == "s2anta_comb" else 16)
    families.DECODE[name](q, k, v, return_lse=True, **arguments)


def main():
    found = {}
    for part in sys.argv[1:]:
        major, minor = part.split(".")
        compiled = {name: compile_call(partial(call, name), (int(major), int(minor)))
                    for name in families.DECODE}
        found[part] = {name: [{key: value for key, value in asdict(k).items() if key != "cubin"}
                              for k in kernels] for name, kernels in compiled.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
