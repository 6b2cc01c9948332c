"""What importing the packages loads, seen from fresh interpreters."""

import subprocess
import sys

import pytest

# not "scipy" itself: Numba looks it up when it is there, and that much is cheap
HEAVY = ["torch", "triton", "pandas", "plotly", "pyarrow", "scipy.special", "scipy.stats"]
GPU_ONLY = ["torch", "triton", "pynvml"]


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("package", ["hw_models", "santa_sim", "gpu_kernels"])
def test_importing_a_package_loads_nothing_heavy(package):
    assert run(f"import sys, {package}; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_gpu_kernels_can_be_imported_without_torch():
    run(f"import sys; sys.modules.update(dict.fromkeys({GPU_ONLY})); import gpu_kernels")


def test_every_core_module_can_be_imported_without_torch_and_loads_nothing_heavy():
    # a module that is None in sys.modules raises ImportError, as if it were not installed
    code = f"""
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys({GPU_ONLY}))
count = 0
for package in ("hw_models", "santa_sim"):
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            count += 1
heavy = [m for m in {HEAVY} if sys.modules.get(m)]
assert count > 10, count
print(heavy)
"""
    assert run(code) == "[]"
