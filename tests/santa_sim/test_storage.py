import math
import struct
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw_models.ledger import Dtype
from santa_sim.storage import STORED, as_stored, decode_stored, dtype_of, encode

singles = st.floats(width=32, allow_nan=False)


def bits_of(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def nearest_bf16(value: float) -> int:
    """Round a float32 to bf16 by exact rational comparison with its two neighbours."""
    bits = bits_of(value)
    sign, magnitude = bits & 0x8000_0000, bits & 0x7FFF_FFFF
    if math.isinf(value):
        return bits >> 16
    below = magnitude >> 16
    exact = Fraction(abs(value))
    # the value that would follow the largest finite bf16 stands in for infinity
    step = [Fraction(*struct.unpack("<f", struct.pack("<I", below << 16))[0].as_integer_ratio())]
    if below + 1 == 0x7F80:
        step.append(Fraction(2) ** 128)
    else:
        (above,) = struct.unpack("<f", struct.pack("<I", (below + 1) << 16))
        step.append(Fraction(*above.as_integer_ratio()))
    down, up = exact - step[0], step[1] - exact
    rounded = below + (up < down or (up == down and below & 1))
    return sign >> 16 | rounded


@given(singles)
def test_bf16_is_the_nearest_value_and_ties_go_to_even(value):
    assert int(encode(np.array([value], np.float32), Dtype.BF16)[0]) == nearest_bf16(value)


@pytest.mark.parametrize(
    ("bits", "stored"),
    [
        (0x3F80_8000, 0x3F80),  # a tie, even below
        (0x3F81_8000, 0x3F82),  # a tie, even above
        (0x3F80_8001, 0x3F81),  # just above a tie
        (0x3F80_7FFF, 0x3F80),  # just below a tie
        (0x3FFF_FFFF, 0x4000),  # the carry reaches the exponent
        (0x7F7F_7FFF, 0x7F7F),  # the largest value that stays finite
        (0x7F7F_8000, 0x7F80),  # half a step beyond the largest bf16: infinity
        (0xFF7F_FFFF, 0xFF80),
        (0x7F80_0000, 0x7F80),
        (0xFF80_0000, 0xFF80),
        (0x0000_0001, 0x0000),
        (0x8000_0001, 0x8000),  # a negative zero stays negative
        (0x0000_8001, 0x0001),  # subnormal
    ],
)
def test_bf16_rounding_at_the_edges(bits, stored):
    value = np.array([bits], np.uint32).view(np.float32)
    assert hex(encode(value, Dtype.BF16)[0]) == hex(stored)


@given(st.lists(singles, min_size=1, max_size=20))
def test_bf16_agrees_with_ml_dtypes(values):
    array = np.array(values, np.float32)
    with np.errstate(over="ignore"):
        theirs = array.astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(encode(array, Dtype.BF16), theirs)


@pytest.mark.parametrize("bits", [0x7FC0_0000, 0x7F80_0001, 0x7FFF_FFFF, 0xFFFF_FFFF, 0xFF80_7FFF])
@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16, Dtype.FP32])
def test_every_nan_stays_nan(bits, dtype):
    nan = np.array([bits], np.uint32).view(np.float32)
    assert np.isnan(decode_stored(encode(nan, dtype))).all()


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16, Dtype.FP32])
def test_infinities_stay_and_values_beyond_the_range_become_them(dtype):
    with np.errstate(over="raise"):
        got = decode_stored(encode(np.array([np.inf, -np.inf, 1e300, -1e300]), dtype))
    np.testing.assert_array_equal(got, [np.inf, -np.inf, np.inf, -np.inf])


def test_every_bf16_pattern_survives_a_round_trip():
    patterns = np.arange(2**16, dtype=np.uint32).astype(np.uint16)
    values = decode_stored(patterns)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(encode(values, Dtype.BF16)[number], patterns[number])
    np.testing.assert_array_equal(values, patterns.view(ml_dtypes.bfloat16).astype(np.float32))


def test_every_fp16_pattern_survives_a_round_trip():
    patterns = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    number = ~np.isnan(patterns)
    got = encode(decode_stored(patterns), Dtype.FP16)
    np.testing.assert_array_equal(got[number].view(np.uint16), patterns[number].view(np.uint16))


@given(st.lists(singles, max_size=20))
def test_fp32_is_kept_as_it_is(values):
    array = np.array(values, np.float32)
    np.testing.assert_array_equal(decode_stored(encode(array, Dtype.FP32)), array)


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16, Dtype.FP32])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_shape_and_type_are_as_promised(dtype, shape):
    stored = encode(np.ones(shape), dtype)
    assert stored.shape == shape
    assert stored.dtype == STORED[dtype]
    assert stored.dtype.itemsize == dtype.bytes
    assert dtype_of(stored) is dtype
    decoded = decode_stored(stored)
    assert decoded.shape == shape
    assert decoded.dtype == np.float32


def test_strided_arrays_are_read_in_their_own_order():
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (values.T, values[::2, ::3], values[::-1]):
        for dtype in STORED:
            np.testing.assert_array_equal(decode_stored(encode(view, dtype)), view)
    stored = encode(values, Dtype.BF16)
    np.testing.assert_array_equal(decode_stored(stored[::2].T), values[::2].T)


def test_bfloat16_arrays_are_bf16_and_seen_without_a_copy():
    array = np.array([[1.0, -2.5]], ml_dtypes.bfloat16)
    stored = as_stored(array)
    assert dtype_of(array) is Dtype.BF16
    assert stored.dtype == np.uint16
    assert np.shares_memory(stored, array)
    np.testing.assert_array_equal(decode_stored(array), [[1.0, -2.5]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint16])
def test_stored_arrays_are_passed_through(dtype):
    array = np.zeros(3, dtype)
    assert np.shares_memory(as_stored(array), array)


@pytest.mark.parametrize(
    "dtype", ["f8", "i4", "i2", "u4", "?", "U3", ">f4", ">u2", ml_dtypes.float8_e4m3fn]
)
def test_other_types_are_refused_by_name(dtype):
    array = np.zeros(1, dtype)
    for read in (dtype_of, as_stored, decode_stored):
        with pytest.raises(TypeError, match=r"dtype must be float32, float16 or bf16 .*, got "):
            read(array)
