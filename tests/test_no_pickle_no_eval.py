"""No code of ours unpickles, evaluates text, or runs a shell; results are Parquet, JSON and text.

Executors of the standard library and Dask pickle what they send to their own workers.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    file for package in ("santa_sim", "hw_models", "gpu_kernels")
    for file in (ROOT / package).rglob("*.py")
)
MODULES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "yaml"}
CALLS = {"eval", "exec", "compile", "__import__", "read_pickle", "to_pickle", "system", "popen"}


def offences(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [
                node.module or ""
            ]
            yield from (name for name in names if name.split(".")[0] in MODULES)
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else None
            method = node.func.attr if isinstance(node.func, ast.Attribute) else None
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if name in CALLS or (method in CALLS and owner in ("os", "pd", "builtins", "frame")):
                yield ast.unparse(node)[:60]
            for keyword in node.keywords:
                value = getattr(keyword.value, "value", None)
                if keyword.arg == "allow_pickle" and value is not False:
                    yield ast.unparse(node)[:60]
                if keyword.arg == "shell" and value is not False:
                    yield ast.unparse(node)[:60]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_neither_unpickles_nor_evaluates(file):
    assert list(offences(ast.parse(file.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    ["import pickle", "from yaml import load", "eval('1')", "import numpy as np\nnp.load(f, "
     "allow_pickle=True)", "import os\nos.system('id')", "run(x, shell=True)", "import joblib.x"],
)
def test_the_check_sees_what_it_is_for(code):
    assert len(list(offences(ast.parse(code)))) == 1
