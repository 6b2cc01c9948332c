"""The JavaScript of the page: the modules in `page/`, joined into one script.

Each file is an ES module that imports by name from its neighbours, so editors and checkers
understand it; a bundler is not needed for so little.
"""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from importlib.resources import files

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z_]+\.js)";$', re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
_START = "main.js"


def page_script() -> str:
    """Return the script of the page: figures first, `main.js` last.

    Raises `ValueError` for an import of a file that is not there.
    """
    return joined(page_modules())


def page_modules() -> dict[str, str]:
    """Return file name -> text of the modules."""
    folder = files("santa_sim.report").joinpath("page")
    return {
        item.name: item.read_text(encoding="utf-8")
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.endswith(".js")
    }


def joined(modules: dict[str, str]) -> str:
    """Return modules in the order of their imports, each in a scope of its own."""
    needs = {name: {m[2] for m in _IMPORT.finditer(text)} for name, text in modules.items()}
    for name, wanted in needs.items():
        if missing := wanted - set(modules):
            raise ValueError(f"{name} imports {', '.join(sorted(missing))}, which is not there")
    # figures register themselves, so nothing imports them by name
    needs[_START] |= {name for name in modules if name.startswith("figure_")}
    order = TopologicalSorter({name: sorted(wanted) for name, wanted in sorted(needs.items())})
    bodies = [_scoped(name, modules[name]) for name in order.static_order()]
    return '"use strict";\nconst MODULES = {};\n' + "\n".join(bodies)


def _scoped(name: str, text: str) -> str:
    """Return a module as a function scope that puts its exports where the others find them."""
    exports = ", ".join(_EXPORTED.findall(text))
    body = _IMPORT.sub(r'const \1 = MODULES["\2"];', text)
    body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    return f'// {name}\n(() => {{\n{body}MODULES["{name}"] = {{ {exports} }};\n}})();'
