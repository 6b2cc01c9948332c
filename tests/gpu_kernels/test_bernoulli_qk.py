import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from decode_cases import assert_close, lengths, make, teeth_that_differ  # noqa: E402

from gpu_kernels.bernoulli_qk.api import (  # noqa: E402
    bernoulli_qk_decode,
    bernoulli_qk_flash_decode,
)
from gpu_kernels.bernoulli_qk.inputs import features_read  # noqa: E402
from gpu_kernels.bernoulli_qk.reference import decode_given_digits, digit_units  # noqa: E402
from gpu_kernels.s2anta_flash.budget import effective_samples, rows_per_head  # noqa: E402
from gpu_kernels.split_plan import LaunchPlan  # noqa: E402
from santa_sim.methods import bernoulli_qk, method  # noqa: E402
from santa_sim.methods.decode import decode  # noqa: E402
from santa_sim.rng import TERNARY, stream_key, uniform  # noqa: E402

pytestmark = pytest.mark.gpu
# rows that only pad the product hold 0·(−inf); nobody reads them
ignore_padding = pytest.mark.filterwarnings(
    "ignore:invalid value encountered in matmul", "ignore:All-NaN slice encountered"
)
KEY = {"seed": 2**63 + 12345, "step": 5, "layer": 3}


def feature_major(k, layout="NHD"):
    """[B, KVH, d, n] of keys [B, n, KVH, d] (or HND)."""
    return (k.permute(0, 2, 3, 1) if layout == "NHD" else k.transpose(2, 3)).contiguous()


def run(q, k, v, **arguments):
    digits = torch.empty(q.shape, dtype=torch.int32, device=q.device)
    out, lse = bernoulli_qk_decode(q, k, v, digits=digits, return_lse=True, **arguments)
    return out, lse, digits


def run_flash(q, k, v, *, samples, tile, **arguments):
    digits = torch.empty(q.shape, dtype=torch.int32, device=q.device)
    rows = torch.empty(*q.shape[:2], rows_per_head(samples, tile, k.shape[3]), dtype=torch.int32,
                       device=q.device)
    out, lse = bernoulli_qk_flash_decode(q, k, v, samples=samples, tile=tile, digits=digits,
                                         rows=rows, return_lse=True, **arguments)
    return out, lse, digits, rows


def check(q, k, v, **arguments):
    out, lse, digits = run(q, k, v, **arguments)
    given = {n: a for n, a in arguments.items() if n not in ("seed", "step", "layer", "launch")}
    exact, exact_lse = decode_given_digits(q, k, v, digits, **given)
    magnitude, _ = decode_given_digits(q, k, v.abs(), digits, **given)
    assert_close(out, exact, magnitude, q.dtype)
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-5, atol=1e-4)
    return out, lse, digits


@pytest.mark.parametrize("scale", ["exact", "power_of_two"])
@pytest.mark.parametrize(("trials", "dim"), [(1, 64), (3, 80), (32, 128)])
def test_digits_are_those_of_the_cpu_model_bit_for_bit(device, trials, dim, scale):
    q, k, v = make(device, batch=2, heads=6, kv_heads=2, dim=dim, context=40, spread=2)
    q[1, 3] = 0
    q[0, 0] = torch.randint(-4, 5, (dim,)).float()  # c/R and the shares hit round numbers
    out, _, digits = run(q, feature_major(k), v, trials=trials, scale=scale, sm_scale=0.3, **KEY)
    scaled = q.cpu().numpy() * np.float32(0.3)
    for b in range(2):
        key = stream_key(KEY["seed"], KEY["step"], KEY["layer"], b)
        for h in range(6):
            wanted = np.zeros(dim, np.int32)
            c = bernoulli_qk.digit_scale(scaled[b, h], trials, scale == "power_of_two")
            if c > 0:
                bernoulli_qk.ternary_digits(scaled[b, h], c, key, h, trials, wanted)
            assert digits[b, h].tolist() == wanted.tolist()
    model = decode(method("bernoulli_qk", trials=trials, scale=scale), q.cpu().numpy(),
                   k.cpu().numpy(), v.cpu().numpy(), sm_scale=0.3, **KEY)
    torch.testing.assert_close(out.cpu(), torch.from_numpy(model.out), rtol=0, atol=2e-5)


@pytest.mark.parametrize("scale", ["exact", "power_of_two"])
def test_a_uniform_equal_to_the_probability_is_no_hit_and_one_just_below_is(device, scale):
    # c = 1 is a power of two already, and uniforms below 1/2 have a float32 neighbour
    key = stream_key(0, 0, 0, 0)
    q, k, v = make(device, heads=2, kv_heads=1, context=20)
    for h in range(2):
        u = torch.tensor([uniform(key, TERNARY, 0, h, j) for j in range(64)])
        q[0, h] = u if h == 0 else torch.nextafter(u, torch.ones(64))
        q[0, h, 7] = -1.0
    _, _, digits = run(q, feature_major(k), v, trials=1, scale=scale, sm_scale=1.0)
    assert digits[0, 0].nonzero()[:, 0].tolist() == [7]
    assert digits[0, 1].tolist() == [1] * 7 + [-1] + [1] * 56


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", ["NHD", "HND"])
def test_values_and_lse_match_float64(device, dtype, layout):
    q, k, v = make(device, batch=2, context=300, dtype=dtype, layout=layout, spread=2)
    check(q, feature_major(k, layout), v, trials=8, kv_layout=layout,
          seq_lens=lengths(device, 300, 70))


@pytest.mark.parametrize("dim", [64, 80, 96, 128, 192, 256])
def test_every_head_dimension(device, dim):
    q, k, v = make(device, dim=dim, context=70)
    check(q, feature_major(k), v, trials=2, scale="power_of_two")


@pytest.mark.parametrize("group", [1, 3, 5, 16, 24, 71])
def test_every_group_size(device, group):
    q, k, v = make(device, heads=group, kv_heads=1, context=40)
    check(q, feature_major(k), v, trials=2)


def test_programs_that_share_splits_change_no_bit(device):
    q, k, v = make(device, batch=2, context=300)
    k, lens = feature_major(k), lengths(device, 300, 40)
    plans = [LaunchPlan(32, 4, 2, 7, programs) for programs in (None, 1, 2, 3)]
    outs = [bernoulli_qk_decode(q, k, v, trials=4, seq_lens=lens, launch=plan) for plan in plans]
    for out in outs[1:]:
        assert torch.equal(out, outs[0])
    check(q, k, v, trials=4, seq_lens=lens, launch=plans[2])


def test_tails_of_tiles(device):
    for n in (1, 127, 128, 129, 257):
        q, k, v = make(device, heads=2, kv_heads=1, context=n, seed=n)
        check(q, feature_major(k), v, trials=4)


@pytest.mark.parametrize(
    ("samples", "tile", "group", "offsets"),
    [(16, 32, 4, "own"), (16, 32, 4, "shared"), (5, 16, 3, "own"), (700, 64, 2, "own"),
     (60, 32, 24, "shared")],
)
def test_flash_values_draw_the_rows_of_the_cpu_model(device, samples, tile, group, offsets):
    q, k, v = make(device, batch=2, heads=2 * group, context=150, spread=2)
    lens = lengths(device, 150, 61)
    out, lse, digits, rows = run_flash(
        q, feature_major(k), v, trials=4, samples=samples, tile=tile, seq_lens=lens,
        offsets=offsets, stash="float32", **KEY)
    scores = {"name": "bernoulli_qk", "trials": 4}
    model = decode(
        method("s2anta_flash", samples=samples, tile=tile, offsets=offsets, scores=scores),
        q.cpu().numpy(), k.cpu().numpy(), v.cpu().numpy(),
        seq_lens=lens.cpu().numpy().astype(np.int64), **KEY)
    moved, total = teeth_that_differ(rows, model)
    # float32 sums here, float64 there: a tooth within 1e-6 of an edge may fall to its neighbour
    assert moved <= 1 + total // 1000
    assert total == sum(effective_samples(samples, tile, n) for n in (150, 61)) * 2 * group
    given, exact_lse = decode_given_digits(q, feature_major(k), v, digits, trials=4, rows=rows,
                                           samples=samples, tile=tile, seq_lens=lens)
    torch.testing.assert_close(out.double(), given, rtol=0, atol=2e-5)
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-5, atol=1e-4)


def test_untouched_features_are_not_read(device):
    # one trial: a feature is touched with a chance of |q_j|/c; the others' keys may be anything
    q, k, v = make(device, batch=2, heads=4, kv_heads=2, context=100)
    k = feature_major(k)
    out, _, digits = run(q, k, v, trials=1, **KEY)
    read = features_read(digits, 2)
    touched = (digits.view(2, 2, 2, 64) != 0).any(2)
    assert torch.equal(read, touched.sum(2))
    assert int(read.max()) < 60
    k[~touched] = float("nan")
    assert torch.equal(out, bernoulli_qk_decode(q, k, v, trials=1, **KEY))
    k[0, 0, int(touched[0, 0].nonzero()[0]), 5] = float("nan")
    assert not bool(bernoulli_qk_decode(q, k, v, trials=1, **KEY).isfinite().all())


def test_scores_are_unbiased(device):
    # 60 equal sequences draw their digits independently: |t| < 6 with 59 degrees of freedom for
    # each of 64 means; false alarm < 64 · 1.3e-7 < 1e-5
    q, k, v = make(device, heads=1, kv_heads=1, context=1, spread=1.5)
    batch = 60
    q, k, v = q.expand(batch, -1, -1), feature_major(k).expand(batch, -1, -1, -1), v.expand(
        batch, -1, -1, -1)
    _, _, digits = run(q, k, v, trials=4, seed=7)
    estimate = digits[:, 0] * digit_units(q, trials=4)[:, :1].to(device)
    exact = q[0, 0].double() / 8
    spread = estimate.std(0) / batch**0.5 + 1e-9
    assert float(((estimate.mean(0) - exact) / spread).abs().max()) < 6
    assert float(estimate.std(0).max()) > 0.05


def test_same_seed_and_step_repeat_bitwise_alone_and_in_a_batch(device):
    q, k, v = make(device, batch=2, heads=2, kv_heads=1, context=100)
    k = feature_major(k)
    for call in (lambda *a, **b: bernoulli_qk_decode(*a, trials=4, **b),
                 lambda *a, **b: bernoulli_qk_flash_decode(*a, trials=4, samples=20, **b)):
        together = call(q, k, v, seed=3, step=4)
        assert torch.equal(together, call(q, k, v, seed=3, step=4))
        assert torch.equal(together[0], call(q[:1], k[:1], v[:1], seed=3, step=4)[0])
        state = torch.tensor([3, 4], dtype=torch.int64, device=device)
        assert torch.equal(together, call(q, k, v, seed=state))
        for change in ({"step": 5}, {"seed": 4}, {"layer": 1}):
            assert not torch.equal(together, call(q, k, v, **({"seed": 3, "step": 4} | change)))


def test_unused_keys_and_values_may_hold_nan_and_empty_sequences_give_zeros(device):
    q, k, v = make(device, batch=2, context=130)
    k = feature_major(k)
    k[0, :, :, 65:] = v[0, 65:] = float("nan")
    k[1] = v[1] = float("nan")
    lens = lengths(device, 65, 0)
    for found in (run(q, k, v, trials=4, seq_lens=lens),
                  run_flash(q, k, v, trials=4, samples=20, tile=32, seq_lens=lens)):
        assert bool(found[0].isfinite().all())
        assert not found[0][1].any()
        assert bool((found[1][1] == -float("inf")).all())


@ignore_padding
def test_a_tile_without_any_mass_is_left_out(device):
    q, k, v = make(device, heads=2, kv_heads=2, context=48)
    q[:] = 0
    q[:, :, 0] = 1
    k = feature_major(k)
    k[:, :, 0, 16:32] = -float("inf")
    v[:, 16:32] = float("nan")
    out, _, _, rows = run_flash(q, k, v, trials=2, samples=6, tile=16)
    assert bool(out.isfinite().all())
    assert bool((rows[:, :, 2:4] == -1).all())


def test_a_query_of_zeros_attends_to_all_keys_alike(device):
    q, k, v = make(device, heads=2, context=50)
    q[:] = 0
    out, lse, digits = run(q, feature_major(k), v, trials=4, scale="power_of_two")
    assert not digits.any()
    torch.testing.assert_close(out[0], v[0].mean(0), rtol=0, atol=1e-5)
    torch.testing.assert_close(lse, torch.full_like(lse, np.log2(50)), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_strided_key_cache_with_room_for_more_keys(device, dtype):
    q, k, v = make(device, batch=2, context=90, dtype=dtype)
    room = torch.full((2, 4, 64, 200), float("nan"), dtype=dtype, device=device)
    room[:, ::2, :, :90] = feature_major(k)
    check(q, room[:, ::2, :, :90], v, trials=3)


def test_features_that_lie_past_2_to_the_31_elements(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=40, dtype=torch.float16)
    stride = 2**25 + 2**23
    # only the pages that hold keys are ever touched
    room = torch.empty(63 * stride + 40, dtype=torch.float16, device=device)
    far = room.as_strided((1, 1, 64, 40), (room.numel(), room.numel(), stride, 1))
    far.copy_(feature_major(k))
    assert 63 * stride > 2**31
    found, near = (run(q, keys, v, trials=4, **KEY)[0] for keys in (far, feature_major(k)))
    assert torch.equal(found, near)
