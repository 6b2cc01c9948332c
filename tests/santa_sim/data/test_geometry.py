import re

import pytest

from hw_models.problems import SpecError
from santa_sim.data.geometry import geometry_names, load_geometry

YAML = """\
name: own
num_qo_heads: 6
num_kv_heads: 2
head_dim: 64
num_layers: 3
max_context: 4096
source: made up
"""


def written(folder, text):
    path = folder / "own.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_geometry_of_the_catalogue_loads_under_its_name():
    assert len(geometry_names()) >= 7
    for name in geometry_names():
        assert load_geometry(name).name == name


# from the models' published config.json
@pytest.mark.parametrize(
    ("name", "heads", "kv_heads", "head_dim", "layers"),
    [
        ("llama-3.1-8b", 32, 8, 128, 32),
        ("llama-3.1-70b", 64, 8, 128, 80),
        ("mistral-7b", 32, 8, 128, 32),
        ("smollm2-135m", 9, 3, 64, 30),
    ],
)
def test_known_models_have_their_published_shape(name, heads, kv_heads, head_dim, layers):
    found = load_geometry(name)
    assert (found.num_qo_heads, found.num_kv_heads) == (heads, kv_heads)
    assert (found.head_dim, found.num_layers) == (head_dim, layers)
    assert found.group_size * kv_heads == heads
    assert found.sm_scale == pytest.approx(head_dim**-0.5)


def test_a_geometry_of_ones_own_is_read_by_path(tmp_path):
    assert load_geometry(written(tmp_path, YAML)).group_size == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("num_kv_heads: 2", "num_kv_heads: 4", "num_qo_heads must be a multiple of num_kv_heads"),
        ("head_dim: 64", "head_dim: 0", ":4: head_dim: "),
        ("head_dim: 64", "head_dims: 64", "did you mean 'head_dim'?"),
        ("num_layers: 3", "num_layers: 3.5", ":5: num_layers: "),
        ("source: made up\n", "", "source: "),
    ],
)
def test_a_wrong_geometry_is_refused_where_it_is_wrong(tmp_path, old, new, message):
    path = written(tmp_path, YAML.replace(old, new))
    with pytest.raises(SpecError, match=re.escape(message)) as caught:
        load_geometry(path)
    assert str(path) in str(caught.value)


def test_an_unknown_geometry_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match=re.escape("did you mean 'llama-3.1-8b'?")):
        load_geometry("lama-3.1-8b")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SpecError, match=re.escape(str(tmp_path / "none.yaml"))):
        load_geometry(tmp_path / "none.yaml")
