"""Who may import whom, and when."""

import ast
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).parent.parent
PACKAGES = ("hw_models", "santa_sim", "gpu_kernels")
HEAVY = {"pandas", "plotly", "pyarrow", "scipy"}
GPU_ONLY = {"torch", "triton", "pynvml"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    module_name(path): path for package in PACKAGES for path in (ROOT / package).rglob("*.py")
}


def is_for_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(path: Path, *, only_on_import: bool) -> set[str]:
    """Names that a module imports: anywhere, or only those that run when it is imported."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide the direction"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else str(node.module))
        elif only_on_import and (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            or is_for_typing(node)
        ):
            continue
        waiting.extend(ast.iter_child_nodes(node))
    return found


def roots(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def test_the_import_contracts_of_pyproject_hold(capsys):
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


def test_heavy_and_gpu_packages_are_imported_in_the_functions_that_need_them():
    eager = {}
    for name, path in MODULES.items():
        # a kernel's own file needs triton at its top; the package files above it must not
        is_kernel = name.startswith("gpu_kernels.") and path.name != "__init__.py"
        barred = HEAVY if is_kernel else HEAVY | GPU_ONLY
        eager[name] = roots(imported(path, only_on_import=True)) & barred
    assert {name: found for name, found in eager.items() if found} == {}


def test_no_modules_import_each_other_in_a_circle():
    edges = {
        name: imported(path, only_on_import=True) & set(MODULES) - {name}
        for name, path in MODULES.items()
    }
    finished: set[str] = set()

    def visit(name: str, trail: list[str]) -> None:
        assert name not in trail, " -> ".join([*trail, name])
        if name not in finished:
            for other in sorted(edges[name]):
                visit(other, [*trail, name])
            finished.add(name)

    for name in sorted(edges):
        visit(name, [])


def test_the_checks_see_what_they_should(tmp_path):
    source = tmp_path / "m.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import pandas\n"
        "class C:\n    import plotly.io\n"
        "try:\n    import triton\nexcept ImportError:\n    pass\n"
        "def f():\n    import torch\n"
    )
    assert imported(source, only_on_import=True) == {"typing", "plotly.io", "triton"}
    assert roots(imported(source, only_on_import=False)) >= {"pandas", "torch"}
