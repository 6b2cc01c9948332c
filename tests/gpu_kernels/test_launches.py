import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from gpu_kernels.compiled_counts.sass import kernel_steps
from gpu_kernels.compiled_counts.table import NotCompiled, Variant, compiled, compiled_kernels
from gpu_kernels.decode_sizes import Sizes
from gpu_kernels.launches.call import DecodeCall
from gpu_kernels.launches.describe import PASSES, passes
from gpu_kernels.split_plan import OFFLINE_LIMITS
from hw_models.gpu.launch import Steps
from hw_models.problems import SpecError

HERE = Path(__file__).parent
H200 = OFFLINE_LIMITS[9, 0]


def call(kernel, batch=1, context=32768, dim=128, **more):
    sampled = kernel not in ("dense", "bernoulli_qk")
    facts = {"samples": 1024, "tile": 64} if sampled else {}
    facts |= {"trials": 4, "features": batch * 8 * 100} if "bernoulli" in kernel else {}
    facts |= {"unique_rows": batch * 8 * 3000} if sampled else {}
    return DecodeCall(kernel, Sizes(batch, context, 32, 8, dim, 2), "bfloat16", "bfloat16",
                      **(facts | more))


@pytest.mark.skipif(find_spec("triton") is None or find_spec("torch") is None,
                    reason="needs PyTorch and Triton to make the launches")
def test_described_launches_are_those_that_the_decode_functions_make():
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, str(HERE / "recorded_calls.py")], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["different"] == []
    assert found["calls"] > 500


def test_launches_are_described_where_torch_and_triton_cannot_be_imported():
    code = ("import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
            "from gpu_kernels.launches.describe import PASSES; print(len(PASSES))")
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                          text=True)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "6", "")


@pytest.mark.parametrize("kernel", list(PASSES))
@pytest.mark.parametrize("batch", [1, 4, 16])
def test_every_pass_of_the_bench_is_in_the_table(kernel, batch):
    tile = {"s2anta_comb": 256}.get(kernel, 64)
    samples = {"s2anta_comb": 256, "s2anta_prop": 256}.get(kernel, 1024)
    facts = {} if kernel in ("dense", "bernoulli_qk") else {"samples": samples, "tile": tile}
    for one in passes(call(kernel, batch, **facts), H200):
        assert compiled(one.variant, (9, 0)).registers > 0


def test_bytes_of_dense_by_hand():
    reading, merge = passes(call("dense"), H200)
    # keys and values of 8 heads and 32,768 keys, 256 bytes each, and 32 queries
    assert reading.work.read_bytes == 2 * 8 * 32768 * 256 + 32 * 256
    # 16 splits for 132 multiprocessors over 8 heads; results of 130 float32
    assert reading.grid == (8, 16, 1)
    assert reading.work.written_bytes == merge.work.handed_bytes == 32 * 16 * 130 * 4


def test_bytes_of_comb_by_hand():
    score, draw = passes(call("s2anta_comb", samples=256, tile=256, unique_rows=7000), H200)
    # 2 bytes a weight, a mass per 16 weights, mass and maximum per tile
    assert score.work.written_bytes == 32 * 128 * (256 * 2 + 16 * 4 + 8)
    assert draw.work.gather_bytes == 7000 * 256
    assert draw.work.gather_lines == 7000 * 2
    # tile maxima and masses, a block of weights per draw, block masses of each tile once
    assert draw.work.handed_bytes == 2 * 32 * 128 * 4 + 32 * 256 * 64 + 32 * 128 * 64
    # rows and block masses that another draw has read come from L2, with the running masses
    assert draw.work.repeated_bytes == ((32 * 256 - 7000) * 256 + (32 * 256 - 32 * 128) * 64
                                        + 32 * 128 * 4)


@pytest.mark.parametrize("kernel", list(PASSES))
def test_two_sequences_move_twice_the_bytes_of_one(kernel):
    def moved(batch):
        work = [one.work for one in passes(call(kernel, batch), H200)]
        return sum(w.read_bytes + w.gather_bytes for w in work)

    assert moved(2) == pytest.approx(2 * moved(1), rel=1e-12)


def test_a_kernel_that_nobody_compiled_is_named():
    with pytest.raises(NotCompiled, match=r"dense_kernel \(HEAD_DIM=7, 4 warps"):
        compiled(Variant("dense.kernel.dense_kernel", "HEAD_DIM=7", 4, 3), (9, 0))


def test_a_table_that_is_not_there_says_how_to_write_it():
    compiled_kernels.cache_clear()
    with pytest.raises(SpecError, match=r"python -m gpu_kernels\.compiled_counts"):
        compiled_kernels((7, 5))


def sass(*lines):
    return "\n".join(f"        /*{16 * index:04x}*/                   {line} ;"
                     for index, line in enumerate(lines))


def test_instructions_of_a_loop_its_branches_and_the_rest_are_told_apart():
    code = sass("MOV R1, R2", "S2R R0, SR_TID.X",  # 2 ahead of the loop
                "FADD R1, R1, R3", "@P0 BRA 0x60", "MUFU.EX2 R4, R4", "FMUL R4, R4, R1",
                "ISETP.GE.AND P1, PT, R0, R5, PT", "@!P1 BRA 0x20",  # 4 always, 2 skipped
                "STG.E [R2], R1", "EXIT", "BRA 0xa0", "NOP")
    found = kernel_steps(code)
    assert found.once == Steps(4)
    assert found.turn == Steps(4)
    assert found.branch == Steps(2, special=1)


def test_a_barrier_counts_where_something_was_stored_for_others_to_read():
    code = sass("BAR.SYNC 0x0", "STS [R1], R2", "FADD R1, R1, R3", "BAR.SYNC 0x0", "LDS R4, [R1]",
                "BAR.SYNC 0x0", "EXIT")
    assert kernel_steps(code).once == Steps(7, barriers=1)


def test_code_without_a_loop_is_all_once():
    code = sass("MOV R1, R2", "@P0 EXIT", "HMMA.16816.F32.BF16 R4, R8, R4, R4", "EXIT",
                "BRA 0x40", "NOP")
    found = kernel_steps(code)
    assert found.once == Steps(4, tensor=1)
    assert found.turn == found.branch == Steps()


def test_an_unrolled_loop_counts_per_turn():
    body = ["FFMA R1, R1, R2, R3", "MUFU.EX2 R1, R1"]
    # three turns at once, then one at a time for what is left
    code = sass(*body * 3, "@P0 BRA 0x0", *body, "@P1 BRA 0x70", "EXIT")
    turn = kernel_steps(code, unrolled=True).turn
    assert turn.instructions == pytest.approx(7 / 3)
    assert turn.special == pytest.approx(1)
    assert kernel_steps(code).turn == Steps(7, special=3)


def test_a_wide_product_counts_as_the_narrow_ones_of_a_warp():
    # 64 × 32 × 16 by four warps: 16 × 32 × 16 each, four times 16 × 8 × 16
    code = sass("HGMMA.64x32x16.F32.BF16 R24, gdesc[UR4], R24", "EXIT")
    assert kernel_steps(code).once.tensor == 4
