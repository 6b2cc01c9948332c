"""What the documents say: commands, links, paths, schemas, versions."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README_COMMANDS = (
    "pip install -e . && python -m santa_sim.study studies/ternary_multiplier_free.yaml",
    'pip install -e ".[test]" && pytest',
)
# spelt in parts, so that this file does not find itself
ONE_MACHINES_PATH = re.compile(
    r"(?<![\w.~}])/(wo" r"rk|ro" r"ot|ho" r"me|Us" r"ers|mn" r"t|tm" r"p)/"
)
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)|(?:src|href)=\"(?!\w+:|#)([^\"#]+)")
GENERATED = {"__pycache__", "runs", "build", "dist"}
TEXT = {"", ".css", ".csv", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".toml", ".yaml"}


def files_of_the_repository():
    """Yield every text file that belongs to the repository, or could."""
    waiting = [ROOT]
    while waiting:
        for path in waiting.pop().iterdir():
            if path.is_dir():
                hidden = path.name.startswith(".") and path.name != ".ci"
                installed = (path / "pyvenv.cfg").exists()
                if not (hidden or installed or path.name in GENERATED):
                    waiting.append(path)
            elif path.suffix in TEXT:
                yield path


TEXT_FILES = sorted(files_of_the_repository())
PAGES = [path for path in TEXT_FILES if path.suffix == ".md"]
SPECS = sorted(
    file for part in ("studies", "hw_models/accelerators") for file in (ROOT / part).rglob("*.yaml")
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [1, 2])
def test_readme_states_the_two_commands(number):
    # `.ci/run` extracts and runs them from the same places
    readme = text_of(ROOT / "README.md")
    block = re.search(rf"<!-- command {number} -->\s*```bash\n(.*?)```", readme, re.DOTALL)
    assert block, f"README.md needs '<!-- command {number} -->' above a bash block"
    assert block[1].strip() == README_COMMANDS[number - 1]


def links(page: str) -> list[str]:
    """Return the relative links of a Markdown page, without their fragments."""
    return [markdown or html for markdown, html in LINK.findall(page)]


def test_relative_links_lead_to_files():
    assert [
        f"{name_of(page)}: {link}"
        for page in PAGES
        for link in links(text_of(page))
        if not (page.parent / link).exists()
    ] == []


def test_links_are_found_and_web_addresses_and_fragments_left_out():
    page = (
        "[a](b/c.md#d) ![e](f.png 'g') [h](https://i.org/j) [k](#l) <img src=\"m.svg\"> "
        "[n](mailto:o@p.q) <a href=\"r.html#s\"> <a href=\"http://t.u\">"
    )
    assert links(page) == ["b/c.md", "f.png", "m.svg", "r.html"]


def test_no_file_names_a_path_of_one_machine():
    assert [
        f"{name_of(path)}: {found[0]}"
        for path in TEXT_FILES
        if (found := ONE_MACHINES_PATH.search(text_of(path)))
    ] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /ho" "me/me/data.npz", True),
        ("in `/tm" "p/out`", True),
        ("https://example.org/ho" "me/page", False),
        ("~/wo" "rk/x", False),
        ("tests/tm" "p/x", False),
    ],
)
def test_the_check_for_paths_sees_what_it_should(text, found):
    assert bool(ONE_MACHINES_PATH.search(text)) == found


def test_editors_find_the_schema_of_every_study_and_accelerator():
    without = []
    for path in SPECS:
        first = text_of(path).splitlines()[0]
        line = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
        if not line or not (path.parent / line[1]).is_file():
            without.append(f"{name_of(path)}: {first}")
    assert SPECS
    assert without == []


def test_changelog_keeps_its_format_and_has_the_current_version():
    text = text_of(ROOT / "CHANGELOG.md")
    declared = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["version"]
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    released = [head for head in heads if head != "[Unreleased]"]
    assert text.startswith("# Changelog\n")
    assert "keepachangelog.com" in text
    assert "[Unreleased]" not in heads[1:]
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", head) for head in released)
    assert released[0].startswith(f"[{declared}] ")
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {
        "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"
    }


def test_licence_is_whole_and_the_notice_credits_the_capture():
    licence = text_of(ROOT / "LICENSE")
    assert "Version 2.0, January 2004" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
    assert "SmolLM2" in text_of(ROOT / "NOTICE")


def test_installed_version_is_the_declared_one():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    assert version("santa_sim") == project["version"]
