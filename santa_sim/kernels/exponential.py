"""An exponential that LLVM can vectorise: float64 arithmetic without branches, float32 result."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_LOG2_E = 1.0 / math.log(2.0)
_LN_2 = math.log(2.0)

_ROUND = 1.5 * 2.0**52
"""Adding it leaves a float64's nearest integer in the low bits."""

_LOWEST, _HIGHEST = -110.0, 90.0
"""exp is 0 below −103.98 and infinite above 88.73 in float32."""

_EXPONENT_BIAS, _FRACTION_BITS = 1023, 52

_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(11))


@intrinsic
def _bits_of(typing_context: Any, value: Any) -> Any:
    """Return the 64 bits of a float64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _from_bits(typing_context: Any, bits: Any) -> Any:
    """Return the float64 with these 64 bits."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@njit(cache=True, nogil=True)
def exp_nearest(x: np.float32) -> np.float32:
    """Return exp(x), within 0.5 + 2^-16 ulp of float32 over its whole range; NaN gives NaN.

    x = k·ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial of degree 10, whose remainder
    is below 2^-42 of e^r; 2^k through the exponent bits. All in float64, so that the only rounding
    that shows is the last one, subnormal results included.
    """
    wide = float(x)
    wide = _LOWEST if wide < _LOWEST else wide
    wide = _HIGHEST if wide > _HIGHEST else wide
    shifted = wide * _LOG2_E + _ROUND
    r = wide - (shifted - _ROUND) * _LN_2
    c = _TAYLOR
    power = (((c[10] * r + c[9]) * r + c[8]) * r + c[7]) * r + c[6]
    power = (((((power * r + c[5]) * r + c[4]) * r + c[3]) * r + c[2]) * r + c[1]) * r + c[0]
    scale = _from_bits((_bits_of(shifted) + _EXPONENT_BIAS) << _FRACTION_BITS)
    return np.float32(power * scale)
