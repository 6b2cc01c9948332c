"""House rules for code that a machine can check."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("hw_models", "santa_sim", "gpu_kernels")
PACKAGE_FILES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
ALL_FILES = sorted(
    [*PACKAGE_FILES, *(p for name in ("tests", "benchmarks") for p in (ROOT / name).rglob("*.py"))]
)
BANNED_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}
MAX_LINES = 400
# spelt in parts, so that this file does not find itself
LEFT_FOR_LATER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_files_are_named_after_their_one_idea():
    assert [name_of(path) for path in ALL_FILES if path.stem in BANNED_NAMES] == []


def test_no_file_is_long():
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in ALL_FILES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_nothing_is_left_for_later():
    assert [name_of(path) for path in ALL_FILES if LEFT_FOR_LATER.search(text_of(path))] == []


def is_unsafe(node: ast.AST) -> bool:
    """Whether a node unpickles, evaluates text or starts a shell."""
    if isinstance(node, ast.Import):
        return "pickle" in {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return node.module == "pickle"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in {"eval", "exec"}
    if isinstance(node, ast.keyword) and node.arg in {"allow_pickle", "shell"}:
        return ast.unparse(node.value) != "False"
    return False


def test_package_code_neither_unpickles_nor_evaluates_text():
    assert [
        f"{name_of(path)}:{node.lineno}"
        for path in PACKAGE_FILES
        for node in ast.walk(ast.parse(text_of(path)))
        if is_unsafe(node)
    ] == []


@pytest.mark.parametrize(
    ("code", "unsafe"),
    [
        ("import pickle", True),
        ("from pickle import loads", True),
        ("eval('1')", True),
        ("np.load(f, allow_pickle=True)", True),
        ("np.load(f, allow_pickle=False)", False),
        ("model.eval()", False),
    ],
)
def test_the_check_for_unsafe_code_sees_what_it_should(code, unsafe):
    assert any(map(is_unsafe, ast.walk(ast.parse(code)))) == unsafe


def public_definitions(node: ast.AST, prefix: str = ""):
    """Yield (name, node) of a module's public functions and classes, and of their methods."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and not inner.name.startswith("_"):
            yield prefix + inner.name, inner
            if isinstance(inner, ast.ClassDef):
                yield from public_definitions(inner, prefix + inner.name + ".")


def test_everything_public_has_a_docstring():
    bare = []
    for path in PACKAGE_FILES:
        tree = ast.parse(text_of(path))
        for name, node in [("module", tree), *public_definitions(tree)]:
            if not ast.get_docstring(node):
                bare.append(f"{name_of(path)}: {name}")
    assert bare == []
