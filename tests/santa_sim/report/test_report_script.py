import pytest

from santa_sim.report.script import joined, page_modules, page_script


def test_a_module_comes_after_what_it_imports():
    script = page_script()
    places = {name: script.index(f"// {name}\n") for name in page_modules()}
    assert max(places, key=lambda name: places[name]) == "main.js"
    assert places["format.js"] < places["bars.js"] < places["figure_energy.js"]


def test_an_import_of_nothing_is_an_error():
    modules = {"main.js": 'import { a } from "./gone.js";\n'}
    with pytest.raises(ValueError, match=r"main\.js imports gone\.js"):
        joined(modules)


def test_what_is_not_exported_stays_in_its_module():
    modules = {
        "a.js": "const hidden = 1;\nexport const shown = hidden;\n",
        "main.js": 'import { shown } from "./a.js";\nconst hidden = shown;\n',
    }
    script = joined(modules)
    assert 'MODULES["a.js"] = { shown };' in script
    assert 'const { shown } = MODULES["a.js"];' in script
    assert "import" not in script
    assert "export" not in script
