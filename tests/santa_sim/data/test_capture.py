import json
import os
import pickle

import numpy as np
import pytest

from hw_models.ledger import Dtype
from hw_models.problems import SpecError
from santa_sim.data.capture import capture_names, load_capture
from santa_sim.storage import encode

QUERY_HEADS, KV_HEADS, HEAD_DIM, ROWS, STEPS = 4, 2, 8, 6, 3


def metadata():
    trace = {"id": "a", "layer": 1, "n": ROWS, "kv_len_of_step": [4, 5, 6]}
    return {
        "model": "made up", "layers": 2, "query_heads": QUERY_HEADS, "kv_heads": KV_HEADS,
        "head_dim": HEAD_DIM, "scale": 0.25, "traces": [trace, {**trace, "id": "b", "layer": 0}],
    }


def contents():
    rng = np.random.default_rng(0)
    arrays = {}
    for trace in "ab":
        arrays[f"{trace}_q"] = rng.standard_normal((STEPS, QUERY_HEADS, HEAD_DIM), np.float32)
        for letter in "KV":
            rows = rng.standard_normal((ROWS, KV_HEADS, HEAD_DIM), np.float32)
            arrays[f"{trace}_{letter}"] = rows.astype(np.float16)
    return arrays


def written(folder, arrays=None, meta=None, replaced=None):
    """Write a small capture and return its path; None leaves an array out."""
    meta = json.dumps(meta or metadata())
    arrays = {**(arrays or contents()), "meta": meta, **(replaced or {})}
    path = folder / "own.npz"
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def fault(path):
    """Return the one line that loading a capture gives."""
    with pytest.raises(SpecError) as caught:
        load_capture(path)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"{path}: ")
    return text.removeprefix(f"{path}: ")


def test_the_shipped_capture_is_whole():
    assert capture_names() == ["smollm2-135m"]
    capture = load_capture("smollm2-135m")
    steps = capture.steps()
    assert len(steps) == 12
    assert {(s.num_qo_heads, s.num_kv_heads, s.head_dim) for s in steps} == {(9, 3, 64)}
    assert {s.source for s in steps} == {f"capture:smollm2-135m/{t}" for t in ("t0", "t3", "t8")}


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16, Dtype.FP32])
def test_a_capture_of_ones_own_is_read_as_it_was_written(tmp_path, dtype):
    arrays = {name: encode(array, dtype) for name, array in contents().items()}
    capture = load_capture(written(tmp_path, arrays))
    step = capture.steps(traces=["b"], steps=[1])[0]
    assert (step.layer, step.step, step.context, step.sm_scale) == (0, 1, 5, 0.25)
    assert step.dtype is dtype
    assert step.seq_lens.tolist() == [5]
    assert np.array_equal(step.k[0], arrays["b_K"][:5])
    assert np.array_equal(step.v[0], arrays["b_V"][:5])


def test_queries_are_rounded_to_the_format_of_the_keys(tmp_path):
    arrays = contents()
    step = load_capture(written(tmp_path)).steps(traces=["a"], steps=[2])[0]
    assert np.array_equal(step.q[0], arrays["a_q"][2].astype(np.float16).astype(np.float32))


def test_filters_choose_traces_layers_and_steps(tmp_path):
    capture = load_capture(written(tmp_path))
    chosen = [(s.label) for s in capture.steps(layers=[1], steps=[2, 0])]
    assert chosen == ["a layer 1 step 0", "a layer 1 step 2"]


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"traces": ["c"]}, "no trace 'c'"),
        ({"layers": [7]}, "no layer 7"),
        ({"steps": [3]}, "no step 3"),
        ({"traces": ["a"], "layers": [0]}, "no trace matches"),
    ],
)
def test_a_filter_that_matches_nothing_is_refused(tmp_path, filters, message):
    capture = load_capture(written(tmp_path))
    with pytest.raises(SpecError, match=message):
        capture.steps(**filters)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match="no capture named 'smolm2-135m'; did you mean 'smollm2-13"):
        load_capture("smolm2-135m")


def test_a_missing_file_is_named(tmp_path):
    assert fault(tmp_path / "none.npz") == "cannot read: No such file or directory"


@pytest.mark.parametrize("part", [0.0001, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path, part):
    path = written(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(5, int(len(whole) * part))])
    assert fault(path).startswith("npz is truncated or damaged: ")


def test_damaged_data_are_refused(tmp_path):
    path = written(tmp_path)
    whole = bytearray(path.read_bytes())
    where = whole.find(contents()["a_K"].tobytes())
    assert where > 0
    whole[where] ^= 0xFF
    path.write_bytes(whole)
    assert fault(path).startswith("a_K: array is truncated or damaged: ")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


def test_a_pickle_is_refused_unread(tmp_path):
    path = tmp_path / "own.npz"
    path.write_bytes(pickle.dumps(Bomb()))
    assert fault(path) == "is a pickle; write captures with numpy.savez"


def test_an_array_of_pickled_objects_is_refused_unread(tmp_path):
    path = written(tmp_path, replaced={"a_K": np.array([Bomb()], dtype=object)})
    assert fault(path) == "a_K: holds pickled objects, which are not read"


def test_another_kind_of_file_is_refused(tmp_path):
    path = tmp_path / "own.npz"
    path.write_text("a text")
    assert fault(path) == "is not an npz file; write captures with numpy.savez"


@pytest.mark.parametrize("name", ["a_q", "b_K", "b_V"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_named(tmp_path, name, number):
    arrays = contents()
    arrays[name][2, 1, 3] = number
    path = written(tmp_path, arrays)
    assert fault(path) == f"{name}: must be finite, but element [2, 1, 3] is not"


def test_a_bf16_nan_is_named(tmp_path):
    arrays = {name: encode(array, Dtype.BF16) for name, array in contents().items()}
    arrays["a_V"][0, 0, 0] = 0x7FC0
    assert fault(written(tmp_path, arrays)) == "a_V: must be finite, but element [0, 0, 0] is not"


def test_a_query_beyond_the_range_of_the_keys_is_refused(tmp_path):
    arrays = contents()
    arrays["a_q"][0, 0, 0] = 1e6
    assert fault(written(tmp_path, arrays)) == "a_q: does not fit into K's storage format, fp16"


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({"b_V": None}, "b_V: array is missing"),
        ({"a_K": np.zeros((ROWS, HEAD_DIM), np.float16)}, "a_K: must have 3 axes [6, 2, 8], got 2"),
        ({"a_K": np.zeros((ROWS, 3, HEAD_DIM), np.float16)}, "a_K: must have shape [6, 2, 8] as"),
        ({"a_q": np.zeros((2, QUERY_HEADS, HEAD_DIM), np.float32)}, "a_q: must have shape [3, 4,"),
        ({"a_V": np.zeros((ROWS, KV_HEADS, HEAD_DIM), np.float32)}, "a_V: K and V must have one"),
        ({"a_K": np.zeros((ROWS, KV_HEADS, HEAD_DIM))}, "a_K: dtype must be float32, float16 or"),
        ({"meta": None}, "meta: array is missing"),
        ({"meta": np.zeros(3)}, "meta: must be one text (0 axes), got float64 with 1 axes"),
        ({"meta": "{"}, "meta: is not valid JSON: "),
        ({"meta": "[" * 100_000}, "meta: is not valid JSON: "),
        ({"meta": "[]"}, "meta: "),
    ],
)
def test_a_wrong_array_is_named(tmp_path, replaced, message):
    assert fault(written(tmp_path, replaced=replaced)).startswith(message)


def changed(key, value, trace=None):
    meta = metadata()
    (meta if trace is None else meta["traces"][trace])[key] = value
    return meta


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (changed("query_heads", 3), "meta.query_heads: must be a multiple of kv_heads, got 3"),
        (changed("scale", -1), "meta.scale: "),
        (changed("head_dim", 0), "meta.head_dim: "),
        (changed("traces", []), "meta.traces: "),
        (changed("layer", 2, trace=0), "meta.traces[0].layer: must be within 0..1, got 2"),
        (changed("id", "a", trace=1), "meta.traces[1].id: 'a' is used twice"),
        (changed("kv_len_of_step", [4, 5, 7], trace=1),
         "meta.traces[1].kv_len_of_step[2]: must be within 1..6, got 7"),
        (changed("kv_len_of_step", [0, 5, 6], trace=1),
         "meta.traces[1].kv_len_of_step[0]: must be within 1..6, got 0"),
        (changed("kv_len_of_step", [], trace=1), "meta.traces[1].kv_len_of_step: "),
    ],
)
def test_wrong_metadata_are_named(tmp_path, meta, message):
    assert fault(written(tmp_path, meta=meta)).startswith(message)


def test_missing_metadata_are_named(tmp_path):
    meta = metadata()
    del meta["scale"]
    assert fault(written(tmp_path, meta=meta)).startswith("meta.scale: ")


def test_every_wrong_array_is_told(tmp_path):
    path = written(tmp_path, replaced={"a_K": None, "b_V": None})
    with pytest.raises(SpecError) as caught:
        load_capture(path)
    assert [str(p).split(": ")[1] for p in caught.value.problems] == ["a_K", "b_V"]


def test_foreign_byte_order_and_column_major_arrays_read_as_the_same_numbers(tmp_path):
    plain, foreign = contents(), {}
    for name, array in plain.items():
        foreign[name] = np.asfortranarray(array.astype(array.dtype.newbyteorder()))
    for one, other in zip(
        load_capture(written(tmp_path)).steps(),
        load_capture(written(tmp_path, foreign)).steps(), strict=True,
    ):
        for array in ("q", "k", "v"):
            assert np.array_equal(getattr(one, array), getattr(other, array))
        assert other.k.strides == one.k.strides


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "own.npz")
    assert fault(tmp_path / "own.npz") == "cannot read: is not a regular file"


def test_a_path_with_a_nul_character_is_refused(tmp_path):
    with pytest.raises(SpecError, match="cannot hold a NUL character"):
        load_capture(tmp_path / "a\0.npz")
