import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)[1]


def run(*arguments, cwd):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True,
                          cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_example_runs(tmp_path):
    assert run("-c", block("python"), cwd=tmp_path) == ""


def test_the_example_study_is_a_study(tmp_path):
    # what the reader is told to bring is stood in for by what ships
    text = block("yaml").replace("my_capture.npz", "smollm2-135m")
    (tmp_path / "my_study.yaml").write_text(text.replace("my_accelerator.yaml", "l40s"))
    plan = run("-m", "santa_sim.study", "my_study.yaml", "--dry-run", cwd=tmp_path)
    assert "5 datasets" in plan
    assert "7 methods" in plan


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def test_the_quickstart_prints_what_is_shown(tmp_path):
    shown = block("text").strip().splitlines()
    printed = run("-m", "santa_sim.study", ROOT / "studies" / "quickstart.yaml", "--quiet", "--out",
                  "runs/quickstart", cwd=tmp_path).strip().splitlines()
    words = [NUMBER.sub("#", " ".join(line.split())) for line in printed if line.strip()]
    assert words == [NUMBER.sub("#", " ".join(line.split())) for line in shown if line.strip()]
    # another processor sums in another order; a draw that falls the other way moves the last digit
    numbers = [[float(n) for n in NUMBER.findall("\n".join(lines))] for lines in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02)
