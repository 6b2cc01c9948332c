import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hw_models.ledger import Dtype
from santa_sim.data.attention import AttentionStep, first_not_finite
from santa_sim.storage import encode


def arguments(**changed):
    rng = np.random.default_rng(0)
    found = {
        "q": rng.standard_normal((2, 6, 8), np.float32),
        "k": rng.standard_normal((2, 5, 3, 8)).astype(np.float16),
        "v": rng.standard_normal((2, 5, 3, 8)).astype(np.float16),
        "seq_lens": np.array([5, 0]), "sm_scale": 0.3, "layer": 0, "step": 0,
        "label": "made up", "source": "test",
    }
    return {**found, **changed}


def test_a_step_knows_its_sizes():
    step = AttentionStep(**arguments())
    assert (step.batch, step.num_qo_heads, step.num_kv_heads, step.group_size) == (2, 6, 3, 2)
    assert (step.head_dim, step.context, step.dtype, step.represents) == (8, 5, Dtype.FP16, 1)


def test_stored_arrays_are_held_without_a_copy():
    given_arrays = arguments()
    assert AttentionStep(**given_arrays).k is given_arrays["k"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": np.zeros((2, 6, 8))}, "q must be float32"),
        ({"q": np.zeros((6, 8), np.float32)}, r"q must be \[B, H, d\]"),
        ({"q": np.zeros((2, 5, 8), np.float32)}, "H must be a multiple of KVH, got H = 5 and KVH"),
        ({"q": np.zeros((1, 6, 8), np.float32)}, r"k must be \[1, n, KVH, 8\]"),
        ({"q": np.zeros((2, 0, 8), np.float32)}, "must be at least 1"),
        ({"k": np.zeros((2, 5, 3, 8))}, "k: dtype must be"),
        ({"v": np.zeros((2, 4, 3, 8), np.float16)}, "v must be as k"),
        ({"v": np.zeros((2, 5, 3, 8), np.float32)}, "v must be as k"),
        ({"seq_lens": np.array([5, 6])}, r"seq_lens must be within 0\.\.5"),
        ({"seq_lens": np.array([-1, 5])}, r"seq_lens must be within 0\.\.5"),
        ({"seq_lens": np.array([5])}, r"seq_lens must be \[2\]"),
        ({"seq_lens": np.array([5, 5], np.int32)}, "seq_lens must be int64"),
        ({"sm_scale": 0.0}, "sm_scale must be finite and above 0"),
        ({"sm_scale": math.nan}, "sm_scale must be finite and above 0"),
        ({"layer": -1}, "layer must be at least 0"),
        ({"step": -1}, "step must be at least 0"),
        ({"represents": 0}, "represents must be at least 1"),
    ],
)
def test_a_wrong_argument_is_named(changed, message):
    with pytest.raises(ValueError, match=message):
        AttentionStep(**arguments(**changed))


@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named(name, number):
    wrong = arguments()
    where = (1, 4, 2) if name == "q" else (1, 4, 2, 7)
    wrong[name][where] = number
    with pytest.raises(ValueError, match=f"{name} must be finite, but {name}") as caught:
        AttentionStep(**wrong)
    assert str(list(where)) in str(caught.value)


@given(
    st.sampled_from([Dtype.BF16, Dtype.FP16, Dtype.FP32]),
    st.integers(0, 3 * 200_003 - 1),
    st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_the_first_number_that_is_not_finite_is_found_in_any_chunk(dtype, where, number):
    values = np.ones((3, 200_003), np.float32)
    values.flat[where:] = number
    found = first_not_finite(encode(values, dtype))
    assert found == np.unravel_index(where, values.shape)


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16, Dtype.FP32])
def test_the_largest_numbers_of_a_format_are_finite(dtype):
    largest = {Dtype.BF16: 3.38e38, Dtype.FP16: 65504.0, Dtype.FP32: 3.4e38}[dtype]
    values = encode(np.array([largest, -largest, 0.0], np.float32), dtype)
    assert first_not_finite(values) is None
