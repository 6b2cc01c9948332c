import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

import families

from gpu_kernels.split_plan import OFFLINE_LIMITS

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "compile_families.py"
PARTS = tuple(f"{major}.{minor}" for major, minor in OFFLINE_LIMITS)
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same for all
REGISTERS_PER_MULTIPROCESSOR = 65536
REGISTERS_PER_THREAD = 255


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Kernels by part and family, as `offline_compile.CompiledKernel` describes them."""
    environment = {n: v for n, v in os.environ.items() if n != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment["TRITON_CACHE_DIR"] = str(tmp_path_factory.mktemp("triton"))
    done = subprocess.run([sys.executable, str(PROGRAM), *PARTS], env=environment, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_the_parts_are_those_of_the_catalogue():
    assert PARTS == ("8.6", "8.9", "9.0", "12.0")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", families.DECODE)
def test_default_configurations_fit_the_part_and_do_not_spill(compiled, part, name):
    limits = OFFLINE_LIMITS[tuple(int(n) for n in part.split("."))]
    kernels = compiled[part][name]
    assert len(kernels) >= 2
    for kernel in kernels:
        threads = 32 * kernel["num_warps"]
        assert kernel["spill_bytes"] == 0, kernel
        assert kernel["shared_bytes"] <= limits.shared_per_block_bytes, kernel
        assert 0 < kernel["registers"] <= REGISTERS_PER_THREAD, kernel
        assert kernel["registers"] * threads <= REGISTERS_PER_MULTIPROCESSOR, kernel


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", families.DECODE)
def test_the_score_stage_runs_on_tensor_cores(compiled, part, name):
    scores = {"dense": "dense_kernel", "s2anta_flash": "flash_kernel",
              "s2anta_comb": "score_kernel", "s2anta_prop": "score_kernel",
              "bernoulli_qk": "ternary_dense_kernel", "bernoulli_qk_flash": "ternary_stash_kernel"}
    found = [k["tensor_core"] for k in compiled[part][name] if k["name"] == scores[name]]
    assert found == [True]
