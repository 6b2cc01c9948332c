"""Compare described launches with those that the decode functions make; print what differs.

A program of its own, because Triton's interpreter, which the tests run under, records nothing.
"""

import json
import sys
from itertools import product

from gpu_kernels.compiled_counts.recorded import recorded_launches, variant_of
from gpu_kernels.decode_sizes import Sizes
from gpu_kernels.launches.call import ITEMSIZE, DecodeCall
from gpu_kernels.launches.describe import PASSES, passes
from gpu_kernels.split_plan import OFFLINE_LIMITS

# heads and KV heads: groups of 4, 3 and 32, the last in two blocks of heads
GEOMETRIES = (((32, 8), 128, "bfloat16"), ((9, 3), 64, "float16"), ((64, 2), 128, "bfloat16"),
              ((32, 8), 128, "float8_e4m3fn"), ((8, 8), 80, "float32"))


def calls():
    sizes = product((1, 4, 16), (100, 8192, 32768), GEOMETRIES)
    for (batch, context, ((heads, kv_heads), dim, dtype)), kernel in product(sizes, PASSES):
        query = "bfloat16" if dtype == "float8_e4m3fn" else dtype
        shape = Sizes(batch, context, heads, kv_heads, dim, ITEMSIZE[dtype])
        sampled = kernel not in ("dense", "bernoulli_qk")
        budgets = ((16, 64), (128, 32)) if sampled else ((0, 0),)
        for per, tile in budgets:
            yield DecodeCall(kernel, shape, dtype, query, max(1, context // per) if per else 0,
                             tile, 4 if kernel.startswith("bernoulli_qk") else 0)


def main():
    different, count = [], 0
    for capability in ((9, 0), (8, 9)):
        for call in calls():
            described = [(p.variant, p.grid) for p in passes(call, OFFLINE_LIMITS[capability])]
            made = [(variant_of(launch), (*launch.grid, 1, 1)[:3])
                    for launch in recorded_launches(call, capability)]
            count += 1
            if described != made:
                different.append(f"{call}: described {described}, made {made}")
    json.dump({"calls": count, "different": different[:3]}, sys.stdout)


if __name__ == "__main__":
    main()
