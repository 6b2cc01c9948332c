import re

import numpy as np
import pytest

from hw_models.problems import SpecError
from santa_sim.study.load import load_study
from santa_sim.study.notes import notes
from santa_sim.study.output import study_text


def faults(path, overrides=()):
    with pytest.raises(SpecError) as caught:
        load_study(path, overrides)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("seeds:", "sedes:", r"small\.yaml:4: sedes: .*did you mean 'seeds'"),
        ("grid:", "gird:", r"small\.yaml:18: methods\[1\]\.gird: .*did you mean 'grid'"),
        ("samples: [32, 64]", "samples: [0, 64]", r"small\.yaml:19: methods\[1\]\.samples: .*0"),
        ("    samples: 64\n", "", r"small\.yaml:20: methods\[2\]\.samples: .*(required|missing)"),
        ("context: 300", "context: 0", r"small\.yaml:14: data\[1\]\.context: .*0"),
        ("context: 300", "context: '300'", r"small\.yaml:14: data\[1\]\.context: .*300"),
        ("s2anta_comb\n    samples", "s2anta_cmb\n    samples",
         r"small\.yaml:20: methods\[2\]\S*: .*did you mean 's2anta_comb'"),
        ("h200_sxm", "h200_smx", r"small\.yaml:25: accelerators\[1\]: .*did you mean 'h200_sxm'"),
        ("h200_sxm", "edge_ternary_7nm_lpddr5", r"small\.yaml:25: accelerators\[1\]: .*twice"),
        ("capture: smollm2-135m", "capture: smollm2-135", r"data\[0\]\.capture: .*did you mean"),
        ("capture: smollm2-135m", "capture: none.npz",
         r"none\.npz: cannot read.* \(named by \S*small\.yaml:6: data\[0\]\)"),
        ("geometry: smollm2-135m", "geometry: llama",
         r"small\.yaml:\d+: data\[1\]\.geometry: .*llama"),
        ("[t3]", "[t9]", r"small\.yaml:\d+: data\[0\]: .*no trace 't9'"),
        ("[0, 2]", "[7]", r"small\.yaml:\d+: data\[0\]: .*no step 7"),
        ("effective_support: 40", "effective_support: .nan",
         r"small\.yaml:13: data\[1\]\.effective_support: "),
        ("    effective_support: 40\n", "", r"data\[1\]: give either fit or effective_support"),
        ("name: small", "name: ../../etc", r"small\.yaml:1: name: "),
        ("{count: 3}", "{count: 0}", r"small\.yaml:4: seeds\.count: .*0"),
        ("{count: 3}", "{count: true}", r"small\.yaml:4: seeds\.count: "),
        ("title: A small study\n", "", r"title: .*(required|missing)"),
        ("kind: zipf", "kind: zpf", r"small\.yaml:12: data\[1\]\.law\S*: .*'zipf'"),
    ],
)
def test_a_fault_is_one_line_with_its_place(small_study, small_text, old, new, expected):
    assert small_text.count(old) >= 1
    small_study.write_text(small_text.replace(old, new, 1), encoding="utf-8")
    lines = faults(small_study)
    assert len(lines) == 1, lines
    assert re.search(expected, lines[0]), lines[0]


def test_every_fault_is_reported_at_once(small_study, small_text):
    text = small_text.replace("h200_sxm", "h300").replace("context: 300", "context: 0")
    small_study.write_text(text.replace("samples: 64", "samples: 0"), encoding="utf-8")
    places = [line.split(": ")[1] for line in faults(small_study)]
    assert places == ["methods[2].samples", "data[1].context", "accelerators[1]"]


def test_a_missing_file_is_named(tmp_path):
    (line,) = faults(tmp_path / "none.yaml")
    assert "none.yaml: cannot read" in line


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("seeds.count=5", lambda s: s.seeds.count == 5),
        ("data[1].context=77", lambda s: s.data[1].context == 77),
        ("accelerators=[h200_sxm]", lambda s: s.accelerators == ("h200_sxm",)),
        ("level=expected", lambda s: s.level == "expected"),
        ("seeds.first=9", lambda s: (s.seeds.first, s.seeds.count) == (9, 3)),
        ("methods[1].grid.samples=[7]", lambda s: s.methods[1].samples == 7),
    ],
)
def test_an_override_changes_one_value(small_study, text, read):
    assert read(load_study(small_study, [text]).study)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seeds.count", "wants key.path=value"),
        ("=3", "wants key.path=value"),
        ("data[5].context=3", "there is no [5]"),
        ("title.x=3", "there is no 'x'"),
        ("seeds.cuont=3", "did you mean 'count'"),
        ("seeds.count=[", "not valid YAML"),
        ("seeds.count=-1", "seeds.count"),
    ],
)
def test_a_wrong_override_is_explained(small_study, text, words):
    (line,) = faults(small_study, [text])
    assert words in line


def test_the_resolved_study_is_the_same_study(small_study, tmp_path):
    first = load_study(small_study)
    again = tmp_path / "elsewhere" / "resolved.yaml"
    again.parent.mkdir()
    again.write_text(study_text(first.study), encoding="utf-8")
    assert load_study(again).study == first.study


def test_paths_in_a_study_start_at_its_folder(small_study, small_text, monkeypatch, tmp_path):
    text = small_text.replace("capture: smollm2-135m", "capture: mine.npz")
    small_study.write_text(text, encoding="utf-8")
    monkeypatch.chdir("/")
    (line,) = faults(small_study)
    assert str(tmp_path / "mine.npz") in line


def test_repeated_entries_are_run_once(small_study, small_text):
    text = small_text.replace("  - name: dense\n", "  - name: dense\n  - {name: dense, tile: 64}\n")
    small_study.write_text(text, encoding="utf-8")
    assert load_study(small_study).study == load_study(small_study).study
    assert [m.name for m in load_study(small_study).study.methods].count("dense") == 1


def test_a_support_that_no_law_reaches_is_a_fault_of_the_study(small_study, small_text):
    from santa_sim.study import run_study

    text = small_text.replace("effective_support: 40", "effective_support: 4000")
    small_study.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        run_study(small_study)
    (problem,) = caught.value.problems
    assert problem.line is not None
    assert problem.path == ("data", 1, "effective_support")
    assert np.isfinite(problem.line)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # whole numbers that Python refuses to print, in values, blocks and overrides
        ("context: 300", "context: 0x" + "f" * 5000, r"data\[1\]\.context: .*thousands of digits"),
        ("samples: [32, 64]", "samples: 0x" + "f" * 5000, r"grid\.samples: .*thousands of digits"),
        ("samples: [32, 64]", "samples: " + "x" * 5000, r"grid\.samples: .*xxx\.\.\.$"),
        ("title: A", 'title: "\\e[1m" #', r"title: string should match"),
        ("grid:\n      samples", "grid:\n      scores..trials", r"joined by single dots"),
        ("kind: zipf", 'kind: "a\\nb"', r"data\[1\]\.law\.kind: got 'a\\nb'"),
        # a union's tag that is spelt like a key of the entry
        ("traces: [t3]", "traces: t3", r"small\.yaml:8: data\[0\]\.traces: must be a list"),
        ("effective_support: 40", "effective_support: 301",
         r"data\[1\]\.effective_support: must not be above the context, 300"),
    ],
)
def test_odd_values_make_one_short_line(small_study, small_text, old, new, expected):
    assert small_text.count(old) >= 1
    small_study.write_text(small_text.replace(old, new, 1), encoding="utf-8")
    (line,) = faults(small_study)
    assert re.search(expected, line), line
    assert len(line) < 600


def test_a_key_set_inside_a_value_of_the_same_grid_does_not_leak(small_study, small_text):
    grid = "grid:\n      scores: [{name: bernoulli_qk}]\n      scores.trials: [1, 2]"
    text = small_text.replace("grid:\n      samples: [32, 64]", grid + "\n    samples: 8")
    small_study.write_text(text, encoding="utf-8")
    methods = load_study(small_study).study.methods
    assert [m.scores.trials for m in methods[1:3]] == [1, 2]


def test_datasets_of_a_sweep_are_told_apart(small_study):
    text = ["data=[{kind: synthetic, geometry: smollm2-135m, law: {kind: zipf}, context: 64, "
            "grid: {effective_support: [5, 20], seed: [0, 1]}}, "
            "{kind: capture, capture: smollm2-135m, traces: [t3], steps: [0]}, "
            "{kind: capture, capture: smollm2-135m, traces: [t3], steps: [1]}]"]
    loaded = load_study(small_study, text)
    names = [dataset.name for dataset in loaded.datasets]
    assert len(set(names)) == len(names) == 6
    assert names[3:] == ["smollm2-135m zipf support=20 seed=1", "smollm2-135m t3",
                         "smollm2-135m t3 (2)"]
    said = [note for note in notes(loaded, ()) if "support of 20 rows" in note]
    assert len(said) == 2
    assert all("support=20" in note for note in said)
