"""A hash of everything that a kernel's machine code and its counts are made from.

Needs no Triton: sources are parsed, not imported.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
COUNTER = ("compiled_counts.sass", "kernel_steps")
DIGITS = 12
Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@lru_cache
def source_hash(kernel: str) -> str:
    """Return the hash of a kernel: its code, the functions and constants of `gpu_kernels` that it
    uses, to any depth, and the code that counts instructions.

    Comments, docstrings and layout do not change it. kernel: module below `gpu_kernels` and name,
    as in the table. Raises `LookupError` where there is no such function.
    """
    module, _, name = kernel.rpartition(".")
    found: dict[tuple[str, str], str] = {}
    for start in ((module, name), COUNTER):
        if not _follow(*start, found):
            raise LookupError(f"gpu_kernels.{start[0]} defines no {start[1]}")
    lines = (f"{place} {text}" for place, text in sorted(found.items()))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGITS]


def _follow(module: str, name: str, found: dict[tuple[str, str], str]) -> bool:
    """Add the definition of a name and what it uses; False where it is defined elsewhere."""
    defined, imported = _module(module)
    if name in imported:
        return _follow(*imported[name], found)
    if name not in defined:
        return False
    if (module, name) not in found:
        found[module, name] = ast.unparse(_bare(defined[name]))
        for node in ast.walk(defined[name]):
            if isinstance(node, ast.Name):
                _follow(module, node.id, found)
    return True


@lru_cache
def _module(name: str) -> tuple[dict[str, Definition], dict[str, tuple[str, str]]]:
    """Return what a module defines and, by its name there, what it has from `gpu_kernels`."""
    path = PACKAGE.joinpath(*name.split(".")).with_suffix(".py")
    if not path.is_file():
        raise LookupError(f"gpu_kernels.{name} is not there")
    defined: dict[str, Definition] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for one in targets:
                defined |= {t.id: node for t in ast.walk(one) if isinstance(t, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpu_kernels."):
            of = str(node.module).removeprefix("gpu_kernels.")
            imported |= {alias.asname or alias.name: (of, alias.name) for alias in node.names}
    return defined, imported


def _bare(node: Definition) -> Definition:
    """Return a definition without its docstring."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        fields = {**dict(ast.iter_fields(node)), "body": node.body[1:] or [ast.Pass()]}
        return ast.copy_location(type(node)(**fields), node)
    return node
