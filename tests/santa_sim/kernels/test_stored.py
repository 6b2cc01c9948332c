"""What the kernels accept as stored rows."""

import ml_dtypes
import numpy as np
import pytest

from santa_sim.kernels.finite import all_finite
from santa_sim.kernels.scores import group_scores
from santa_sim.kernels.stored import kernel_view
from santa_sim.storage import STORED, encode


def test_a_view_says_where_rows_and_heads_lie():
    k = np.zeros((5, 3, 8), np.float16)
    view = kernel_view(k[::2, 1:])
    assert view.address == k.ctypes.data + 16
    assert (view.row_bytes, view.head_bytes, view.item_bytes) == (96, 16, 2)
    assert (view.rows, view.heads) == (3, 2)


def test_bfloat16_arrays_are_bf16():
    k = np.linspace(-2, 2, 48, dtype=np.float32).reshape(6, 8).astype(ml_dtypes.bfloat16)
    q = np.ones((1, 8), np.float32)
    one, other = np.empty((2, 1, 6), np.float32)
    group_scores(q, k, one)
    group_scores(q, k.view(np.uint16), other)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2, 2)])
def test_rows_have_two_or_three_dimensions(shape):
    with pytest.raises(ValueError, match=r"must be \[n, d\] or \[n, KVH, d\]"):
        kernel_view(np.zeros(shape, np.float32))


@pytest.mark.parametrize("k", [np.zeros((4, 6), np.float32)[:, ::2], np.zeros((4, 6), np.uint16).T])
def test_rows_whose_numbers_lie_apart_are_refused(k):
    with pytest.raises(ValueError, match="last axis must be contiguous: its stride is"):
        kernel_view(k)


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_one_number_that_is_not_finite_is_found_anywhere(bad, dtype):
    rng = np.random.default_rng(0)
    array = encode(rng.standard_normal((9, 3, 21)) * 100, dtype)
    assert all_finite(array)
    assert all_finite(array[:, 1:])
    for where in [(0, 0, 0), (8, 2, 20), (4, 1, 17), (3, 0, 15)]:
        spoilt = array.copy()
        spoilt[where] = encode(np.array(bad), dtype)
        assert not all_finite(spoilt)
        assert all_finite(spoilt[:, 1:]) == (where[1] == 0)


@pytest.mark.parametrize("dtype", STORED)
def test_the_largest_numbers_are_finite(dtype):
    largest = {"bf16": 0x7F7F, "fp16": 0x7BFF, "fp32": 0x7F7FFFFF}[dtype.value]
    array = np.full((300, 2, 8), largest, f"uint{8 * dtype.bytes}").view(STORED[dtype])
    assert all_finite(array)
    assert all_finite(array[:0])
