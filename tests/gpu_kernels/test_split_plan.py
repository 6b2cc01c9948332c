from unittest import mock

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from gpu_kernels import request  # noqa: E402
from gpu_kernels.dense import plan as dense  # noqa: E402
from gpu_kernels.s2anta_comb import plan as comb  # noqa: E402
from gpu_kernels.s2anta_flash import plan as flash  # noqa: E402
from gpu_kernels.split_plan import GROUP, OFFLINE_LIMITS, SPAN, LaunchPlan  # noqa: E402

PARTS = [pytest.param(limits, id=f"{major}.{minor}")
         for (major, minor), limits in OFFLINE_LIMITS.items()]
BATCHES = (1, 2, 3, 4, 5, 7, 16, 64, 300)


def plans(name, batch, context, limits, dim=128):
    q = torch.empty(batch, 32, dim, dtype=torch.bfloat16)
    # one row stands for all of them
    cache = torch.empty(1, 1, 1, dim, dtype=torch.bfloat16).expand(batch, context, 8, dim)
    with mock.patch.object(request, "check_device"):
        found = request.check_decode(q, cache, cache, seq_lens=None, sm_scale=None,
                                     kv_layout="NHD")
    if name == "dense":
        return dense.plan(found, limits)
    if name == "s2anta_flash":
        return flash.plan(found, 64, limits)
    return comb.plan(found, 256, limits)


@pytest.mark.parametrize("limits", PARTS)
@pytest.mark.parametrize("context", [1, 100, 2048, 8192, 32768, 131072])
@pytest.mark.parametrize("name", ["dense", "s2anta_flash"])
def test_nothing_that_changes_bits_depends_on_the_batch(name, context, limits):
    found = [plans(name, batch, context, limits) for batch in BATCHES]
    assert len({(plan.block_n, plan.num_warps, plan.splits) for plan in found}) == 1


@pytest.mark.parametrize("limits", PARTS)
@pytest.mark.parametrize(("name", "resident"), [("dense", 1), ("s2anta_flash", 8)])
def test_programs_run_in_one_wave_and_a_long_sequence_fills_most_of_it(name, resident, limits):
    slots = limits.multiprocessors * resident
    for batch in BATCHES:
        programs = plans(name, batch, 131072, limits).grid_programs * 8 * batch
        assert programs <= max(slots, 8 * batch)
        # whole programs of 8 KV heads, whole groups of splits
        assert batch * 8 > slots or programs > slots / 4


@pytest.mark.parametrize("splits", range(1, 70))
def test_programs_read_every_split_once_and_store_whole_groups(splits):
    for programs in range(1, splits + 1):
        plan = LaunchPlan(64, 1, 2, splits, programs)
        run, result = plan.splits_per_program, plan.splits_per_result
        assert run * (plan.grid_programs - 1) < splits <= run * plan.grid_programs
        assert plan.grid_programs <= programs
        assert result in (1, GROUP, SPAN)
        assert run % result == 0
        assert result <= run < result * GROUP or result == SPAN


@pytest.mark.parametrize("limits", PARTS)
@pytest.mark.parametrize("context", [1, 255, 8192, 32768])
def test_the_score_pass_has_work_for_each_program(context, limits):
    for batch in BATCHES:
        plan = plans("s2anta_comb", batch, context, limits)
        assert 1 <= plan.splits <= -(-context // 256)
