"""Whatever a study or a capture holds: exit 0 or 2, one line per fault, nothing half written."""

import copy
import io
import json
import random
import zipfile
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from santa_sim.study import __main__ as command
from santa_sim.study import machines
from santa_sim.study.spec import study_schema

STUDY = """\
name: fuzzed
title: A small study
question: How much?
seeds: {count: 2}
level: sampled
data:
  - kind: synthetic
    geometry: smollm2-135m
    law: {kind: zipf}
    effective_support: 9
    grid: {context: [20, 30]}
methods:
  - name: dense
  - name: s2anta_comb
    grid: {samples: [8, 16]}
accelerators:
  - h200_sxm
  - {base: edge_ternary_7nm_lpddr5, grid: {memory.peak_bandwidth: [1.0e+10, 2.0e+10]}}
"""


@pytest.fixture(scope="module", autouse=True)
def accelerators_are_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machines, "load_accelerator", cache(machines.load_accelerator))
        yield


def run(capsys, folder, *arguments):
    """Run the program here; assert that it ends as it should, and return its status."""
    before = sorted(p.name for p in folder.iterdir())
    status = command.main([*map(str, arguments), "--quiet"])
    said = capsys.readouterr()
    assert status in (0, 2), said.err
    assert "Traceback" not in said.err
    if status == 2:
        assert said.err.strip()
        assert len(said.err.splitlines()) <= command.MAX_LINES + 1
        assert sorted(p.name for p in folder.iterdir()) == before
    return status


def values():
    """Values that people and programs put into YAML, wrong ones most of all."""
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(-3, 70), st.sampled_from([2**31, 2**63, 10**400]),
        st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=8),
        st.sampled_from(["dense", "s2anta_comb", "zipf", "h200_sxm", "../x", "/dev/zero", "\0"]),
    )
    return st.recursive(
        scalars, lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3),
        ), max_leaves=5,
    )


def keys():
    """Every key that the schema knows."""
    found = set()

    def walk(node):
        if isinstance(node, dict):
            found.update(node.get("properties", {}))
            for inner in node.values():
                walk(inner)
        elif isinstance(node, list):
            for inner in node:
                walk(inner)

    walk(study_schema())
    return sorted(found)


def plain():
    from hw_models.strict_yaml import parse

    return parse(STUDY, "study").data


def places(node, path=()):
    yield path
    if isinstance(node, dict):
        for key, inner in node.items():
            yield from places(inner, (*path, key))
    elif isinstance(node, list):
        for i, inner in enumerate(node):
            yield from places(inner, (*path, i))


@st.composite
def changed_studies(draw):
    """The study with up to three things replaced, removed or added anywhere, as JSON."""
    data = copy.deepcopy(plain())
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(places(data))[1:]))
        node = data
        for part in path[:-1]:
            node = node[part]
        what = draw(st.sampled_from(["replace", "remove", "add"]))
        if what == "replace" or not isinstance(node, dict):
            node[path[-1]] = draw(values())
        elif what == "remove":
            del node[path[-1]]
        else:
            node[draw(st.sampled_from(keys()))] = draw(values())
        if not isinstance(data, dict) or not list(places(data))[1:]:
            break
    return json.dumps(data)


FUZZ = {"suppress_health_check": list(HealthCheck), "deadline": None, "derandomize": True,
        "database": None}


@settings(max_examples=650, **FUZZ)
@given(text=changed_studies())
def test_studies_changed_anywhere(tmp_path_factory, capsys, text):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "s.yaml").write_text(text, encoding="utf-8")
    run(capsys, folder, folder / "s.yaml", "--out", folder / "out", "--dry-run")


@settings(max_examples=350, **FUZZ)
@given(data=st.data())
def test_studies_with_changed_bytes(tmp_path_factory, capsys, data):
    text = bytearray(STUDY.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        cut = data.draw(st.integers(0, 3))
        text[at:at + cut] = data.draw(st.binary(max_size=3))
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "s.yaml").write_bytes(bytes(text))
    run(capsys, folder, folder / "s.yaml", "--out", folder / "out", "--dry-run")


@settings(max_examples=25, **FUZZ)
@given(text=changed_studies())
def test_changed_studies_that_run(tmp_path_factory, capsys, text):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "s.yaml").write_text(text, encoding="utf-8")
    small = ["--set", "seeds={count: 1}", "--engine", "serial"]
    if run(capsys, folder, folder / "s.yaml", "--out", folder / "out", *small) == 0:
        assert (folder / "out" / "results.parquet").exists()


def capture_arrays():
    rng = np.random.default_rng(0)
    meta = {
        "model": "tiny", "layers": 1, "query_heads": 2, "kv_heads": 1, "head_dim": 8, "scale": 0.35,
        "traces": [{"id": "t0", "layer": 0, "n": 16, "kv_len_of_step": [15, 16]}],
    }
    return {
        "t0_q": rng.standard_normal((2, 2, 8)).astype(np.float16),
        "t0_K": rng.standard_normal((16, 1, 8)).astype(np.float16),
        "t0_V": rng.standard_normal((16, 1, 8)).astype(np.float16),
        "meta": np.array(json.dumps(meta)),
    }


def saved(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def malformed(chance):
    """Return the bytes of one more broken capture."""
    arrays = capture_arrays()
    name = chance.choice(["t0_q", "t0_K", "t0_V"])
    kind = chance.randrange(8)
    if kind == 0:
        arrays[name] = arrays[name].astype(chance.choice([np.int8, np.float64, "U3", complex]))
    elif kind == 1:
        arrays[name] = arrays[name][..., : chance.randrange(8)]
    elif kind == 2:
        arrays[name].reshape(-1)[chance.randrange(8)] = chance.choice([np.nan, np.inf, 6e4])
    elif kind == 3:
        del arrays[chance.choice(list(arrays))]
    elif kind == 4:
        meta = json.loads(str(arrays["meta"]))
        meta[chance.choice(list(meta))] = chance.choice([0, -1, None, "x", [], 1e400, 10**30])
        arrays["meta"] = np.array(json.dumps(meta))
    elif kind == 5:
        trace = {"id": "t0", "layer": 0, "n": 16, "kv_len_of_step": [15, 16]}
        trace[chance.choice(list(trace))] = chance.choice([99, -1, [], [0, 17], "t9", None])
        meta = json.loads(str(arrays["meta"])) | {"traces": [trace]}
        arrays["meta"] = np.array(json.dumps(meta))
    elif kind == 6:
        arrays[name] = np.array([{"a": 1}], dtype=object)  # NumPy saves it as a pickle
    content = bytearray(saved(arrays))
    if kind == 7:
        for _ in range(chance.randrange(1, 6)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        if chance.random() < 0.3:
            del content[chance.randrange(len(content)):]
    return bytes(content)


def test_200_malformed_captures(tmp_path, capsys):
    chance = random.Random(11)
    study = tmp_path / "s.yaml"
    study.write_text(
        "name: captured\ntitle: t\nseeds: {count: 1}\ndata: [{kind: capture, capture: c.npz}]\n"
        "methods: [{name: dense}]\naccelerators: [h200_sxm]\n"
    )
    statuses = []
    for number in range(200):
        (tmp_path / "c.npz").write_bytes(malformed(chance))
        more = [] if number % 10 == 0 else ["--dry-run"]
        folder = tmp_path / "runs"
        folder.mkdir(exist_ok=True)
        statuses.append(run(
            capsys, folder, study, "--out", folder / f"out{number}", "--engine", "serial", *more
        ))
    assert statuses.count(2) > 120  # most are broken beyond use, and not all in the same way


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB, STUDY + BOMB,
        "&a [*a]", "a: &a {b: *a}", "? &a [*a]\n: 1",
        STUDY.replace("count: 2", "count: " + "9" * 5000),
        STUDY.replace("context: [20, 30]", "context: [" + "9" * 400 + "]"),
        STUDY.replace("count: 2", "count: 1e999"),
        STUDY.replace("count: 2", "count: 0x" + "f" * 3000),
        STUDY.replace("name: fuzzed", "name: ../../fuzzed"),
        STUDY.replace("name: fuzzed", "name: /etc/fuzzed"),
        STUDY.replace("name: fuzzed", "name: ..", 1),
        STUDY.replace("- h200_sxm", "- ../../../../etc/passwd"),
        STUDY.replace("geometry: smollm2-135m", "geometry: ../../etc/passwd.yaml"),
        STUDY.replace("dense", "!!python/object/apply:os.system [id]"),
        STUDY.replace("samples: [8, 16]", "samples: " + str(list(range(1, 401))))
        .replace("grid: {samp", "grid: {tile: " + str(list(range(1, 301))) + ", samp"),
        "[" * 5000, "{a: " * 5000, "\ufeff\0", "",
    ],
)
def test_bombs_and_traps_are_refused(tmp_path, capsys, text):
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    assert run(capsys, tmp_path, tmp_path / "s.yaml", "--out", tmp_path / "out") == 2


def test_anchors_that_end_are_welcome(tmp_path, capsys):
    text = STUDY.replace("law: {kind: zipf}", "law: &law {kind: zipf}").replace(
        "methods:", "  - {kind: synthetic, geometry: smollm2-135m, law: *law, context: 9,\n"
        "     effective_support: 3}\nmethods:"
    )
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    assert run(capsys, tmp_path, tmp_path / "s.yaml", "--dry-run") == 0


def test_a_zip_bomb_is_no_capture(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "c.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("t0_K.npy", b"\0" * 50_000_000)
    (tmp_path / "s.yaml").write_text(
        "name: x\ntitle: t\ndata: [{kind: capture, capture: c.npz}]\nmethods: [{name: dense}]\n"
        "accelerators: [h200_sxm]\n"
    )
    assert run(capsys, tmp_path, tmp_path / "s.yaml", "--out", tmp_path / "out") == 2
