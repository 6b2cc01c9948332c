import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import families  # noqa: E402
from decode_cases import make  # noqa: E402

from gpu_kernels.plan_cache import KERNELS, PlanCache, plan_key  # noqa: E402
from gpu_kernels.plan_search import Problem, candidates, main, prepared, search  # noqa: E402
from gpu_kernels.split_plan import LaunchPlan  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture
def cache(tmp_path):
    return PlanCache(tmp_path / "deep" / "plans.json")


def keys(device, **change):
    q, k, _ = make(device, batch=2, **change)
    return plan_key("dense", q, k)


def test_a_plan_comes_back_as_it_was_kept_and_others_are_not_touched(device, cache):
    key, other = keys(device), keys(device, context=50)
    assert cache.get(key, 2) is None
    plan = LaunchPlan(64, 4, 3, 7)
    cache.put(key, plan, 2, 12.5)
    cache.put(other, LaunchPlan(32, 2, 2, 1), 2, 1.0)
    assert PlanCache(cache.path).get(key, 2) == plan
    assert [p.name for p in cache.path.parent.iterdir()] == ["plans.json"]


def test_splits_stay_and_programs_follow_the_batch(device, cache):
    key = keys(device, heads=4, kv_heads=2)
    cache.put(key, LaunchPlan(64, 4, 3, 16, 8), 4, 12.5)
    # 2 KV heads times 8 programs times 4 sequences
    found = {batch: cache.get(key, batch) for batch in (1, 2, 4, 8, 1000)}
    assert {plan.splits for plan in found.values()} == {16}
    assert [plan.programs for plan in found.values()] == [16, 16, 8, 4, 1]


def test_a_key_tells_what_a_plan_depends_on_and_not_the_batch(device):
    base = keys(device)
    assert keys(device) == base
    q, k, _ = make(device, batch=5)
    assert plan_key("dense", q, k) == base
    hnd = plan_key("dense", q, k.transpose(1, 2), kv_layout="HND")
    assert hnd == base
    feature_major = plan_key("bernoulli_qk", q, families.keys_for("bernoulli_qk", k))
    assert (feature_major.context, feature_major.num_kv_heads) == (100, 2)
    for change in ({"heads": 8}, {"kv_heads": 4}, {"dim": 80}, {"dtype": torch.float16},
                   {"context": 99}):
        assert keys(device, **change) != base
    assert plan_key("s2anta_flash", q, k, samples=4, tile=32) != plan_key(
        "s2anta_flash", q, k, samples=4, tile=64)
    with pytest.raises(ValueError, match=r"kernel: must be one of dense, .*, got 'flash'"):
        plan_key("flash", q, k)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2, "plans": {}}'])
def test_a_file_that_is_no_cache_is_named_and_left_alone(device, tmp_path, text):
    path = tmp_path / "plans.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"plans\.json: must be a plan cache of format 1"):
        PlanCache(path).put(keys(device), LaunchPlan(64, 4, 3, 7), 1, 1.0)
    assert path.read_text() == text


def test_neighbours_hold_the_rule_first_and_stay_in_bounds():
    base = LaunchPlan(128, 4, 2, 16, 8)
    found = list(candidates(base, any_block=True))
    assert found[0] == base
    assert {plan.block_n for plan in found} == {64, 128, 256}
    assert {plan.block_n for plan in candidates(base, any_block=False)} == {128}
    assert all(plan.num_warps >= 1 and plan.num_stages >= 1 for plan in found)
    assert all(plan.programs <= plan.splits for plan in found)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_search_keeps_the_fastest_plan_which_the_kernel_then_takes(device, cache, kernel):
    sampled = {"samples": 8, "tile": 32} if kernel in families.SAMPLED else {}
    problem = Problem(kernel, 1, 96, 2, 1, 64, "float16", **sampled)
    _, base, call_of = prepared(problem, device)
    wanted = next(plan for plan in candidates(base, any_block=False)
                  if plan.num_stages != base.num_stages)
    called = []

    def time_us(call):
        called.append(call.keywords["launch"])
        return 1.0 if call.keywords["launch"] == wanted else 2.0

    best, least = search(problem, cache, device, time_us)
    assert (best, least) == (wanted, 1.0)
    assert called[0] == base
    key, _, _ = prepared(problem, device)
    assert cache.get(key, 1).num_stages == wanted.num_stages
    assert json.loads(cache.path.read_text())["plans"][str(key)]["time_us"] == 1.0
    assert bool(call_of(cache.get(key, 1))().isfinite().all())


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what to do without a GPU")
def test_the_command_says_what_it_needs(capsys, tmp_path):
    assert main(["--cache", str(tmp_path / "p.json"), "--kernel", "dense"]) == 2
    assert capsys.readouterr().err == "tuning needs a CUDA device, and none is visible\n"
