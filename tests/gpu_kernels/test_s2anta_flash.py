import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from decode_cases import assert_close, lengths, make, teeth_that_differ  # noqa: E402

from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.s2anta_flash.api import s2anta_flash_decode  # noqa: E402
from gpu_kernels.s2anta_flash.budget import effective_samples, rows_per_head  # noqa: E402
from gpu_kernels.s2anta_flash.reference import flash_given_rows  # noqa: E402
from gpu_kernels.split_plan import LaunchPlan  # noqa: E402
from santa_sim.methods import method  # noqa: E402
from santa_sim.methods.decode import decode  # noqa: E402

pytestmark = pytest.mark.gpu
# rows that only pad the product hold 0·(−inf); nobody reads them
ignore_padding = pytest.mark.filterwarnings(
    "ignore:invalid value encountered in matmul", "ignore:All-NaN slice encountered"
)
KEY = {"seed": 2**63 + 12345, "step": 5, "layer": 3}


def run(q, k, v, *, samples, tile, **arguments):
    n = k.shape[1] if arguments.get("kv_layout", "NHD") == "NHD" else k.shape[2]
    rows = torch.empty(*q.shape[:2], rows_per_head(samples, tile, n), dtype=torch.int32,
                       device=q.device)
    out, lse = s2anta_flash_decode(q, k, v, samples=samples, tile=tile, rows=rows, return_lse=True,
                                   **arguments)
    return out, lse, rows


@pytest.mark.parametrize(
    ("samples", "tile", "group", "offsets"),
    [(16, 32, 4, "own"), (16, 32, 4, "shared"), (5, 16, 3, "own"), (700, 64, 2, "own"),
     (40, 16, 1, "own"), (60, 32, 24, "shared")],
)
def test_draws_the_rows_of_the_cpu_model(device, samples, tile, group, offsets):
    q, k, v = make(device, batch=2, heads=2 * group, context=150, spread=2)
    lens = lengths(device, 150, 61)
    out, lse, rows = run(q, k, v, samples=samples, tile=tile, seq_lens=lens, offsets=offsets, **KEY)
    model = decode(
        method("s2anta_flash", samples=samples, tile=tile, offsets=offsets), q.cpu().numpy(),
        k.cpu().numpy(), v.cpu().numpy(), seq_lens=lens.cpu().numpy().astype(np.int64), **KEY,
    )
    moved, total = teeth_that_differ(rows, model)
    # float32 sums here, float64 there: a tooth within 1e-6 of an edge may fall to its neighbour
    assert moved <= 1 + total // 1000
    assert total == sum(effective_samples(samples, tile, n) for n in (150, 61)) * 2 * group
    given = flash_given_rows(q, k, v, rows, samples=samples, tile=tile, seq_lens=lens)
    torch.testing.assert_close(out.double(), given, rtol=0, atol=1e-5)
    torch.testing.assert_close(lse.double(), exact_decode(q, k, v, seq_lens=lens)[1],
                               rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_output_is_the_weighted_mean_of_the_drawn_rows_in_short_formats(device, dtype):
    q, k, v = make(device, dim=96, context=100, dtype=dtype, layout="HND")
    out, _, rows = run(q, k, v, samples=24, tile=32, kv_layout="HND", **KEY)
    given = flash_given_rows(q, k, v, rows, samples=24, tile=32, kv_layout="HND")
    magnitude = flash_given_rows(q, k, v.abs(), rows, samples=24, tile=32, kv_layout="HND")
    assert_close(out, given, magnitude, dtype)


def test_mean_over_draws_is_exact_attention(device):
    # 40 equal sequences draw independently: |t| < 6 with 39 degrees of freedom for each of 4·64
    # numbers; false alarm < 256 · 6e-7 < 2e-4
    q, k, v = make(device, heads=4, kv_heads=1, context=40, spread=1.5)
    batch = 40
    out = s2anta_flash_decode(
        q.expand(batch, -1, -1), k.expand(batch, -1, -1, -1), v.expand(batch, -1, -1, -1),
        samples=6, tile=16, seed=7,
    ).double().cpu()
    exact = exact_decode(q, k, v)[0][0].cpu()
    z = (out.mean(0) - exact) / (out.std(0) / batch**0.5 + 1e-9)
    assert float(out.std(0).min()) > 1e-3
    assert float(z.abs().max()) < 6


def test_draws_differ_between_layers_steps_seeds_heads_and_sequences(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=200)
    q, k, v = (t.expand(2, *t.shape[1:]).clone() for t in (q, k, v))
    q[:, 1] = q[:, 0]
    base = {"seed": 1, "step": 0, "layer": 0}
    outs = [run(q, k, v, samples=20, tile=64, **(base | change))[2]
            for change in ({}, {"seed": 2}, {"step": 1}, {"layer": 1})]
    for i in range(4):
        for j in range(i):
            assert not torch.equal(outs[i], outs[j])
    assert not torch.equal(outs[0][0, 0], outs[0][0, 1])
    assert not torch.equal(outs[0][0, 0], outs[0][1, 0])


def test_same_seed_and_step_repeat_bitwise_alone_and_in_a_batch(device):
    q, k, v = make(device, batch=2, context=300)
    together = s2anta_flash_decode(q, k, v, samples=20, tile=32, seed=3, step=4)
    again = s2anta_flash_decode(q, k, v, samples=20, tile=32, seed=3, step=4)
    alone = s2anta_flash_decode(q[:1], k[:1], v[:1], samples=20, tile=32, seed=3, step=4)
    assert torch.equal(together, again)
    assert torch.equal(together[0], alone[0])


@pytest.mark.parametrize(("splits", "samples"), [(7, 20), (16, 90), (38, 40)])
def test_programs_that_share_splits_change_no_bit(device, splits, samples):
    q, k, v = make(device, batch=4, context=600)
    lens = lengths(device, 600, 0, 40, 333)
    arguments = {"samples": samples, "tile": 16, "seq_lens": lens, **KEY}
    out, _, rows = run(q, k, v, **arguments, launch=LaunchPlan(16, 1, 2, splits))
    given = flash_given_rows(q, k, v, rows, samples=samples, tile=16, seq_lens=lens)
    torch.testing.assert_close(out.double(), given, rtol=0, atol=1e-5)
    for programs in (1, 2, 3, 5):
        other = s2anta_flash_decode(q, k, v, **arguments,
                                    launch=LaunchPlan(16, 1, 2, splits, programs))
        assert torch.equal(other, out)


def test_seed_and_step_are_read_from_device_memory(device):
    q, k, v = make(device, context=100)
    state = torch.tensor([9, 2], dtype=torch.int64, device=device)
    first = s2anta_flash_decode(q, k, v, samples=8, tile=32, seed=state)
    assert torch.equal(first, s2anta_flash_decode(q, k, v, samples=8, tile=32, seed=9, step=2))
    state[1] += 1
    assert not torch.equal(first, s2anta_flash_decode(q, k, v, samples=8, tile=32, seed=state))


def test_rows_without_probability_and_unused_rows_are_never_read(device):
    q, k, v = make(device, batch=2, heads=2, kv_heads=1, context=130)
    q[:] = 0
    q[:, :, 0] = 1
    k[..., 0] = 0
    k[:, 3::4, :, 0] = -1e30
    v[:, 3::4] = float("nan")
    k[0, 65:] = v[0, 65:] = float("nan")
    k[1] = v[1] = float("nan")
    lens = lengths(device, 65, 0)
    for seed in range(5):
        out, lse, rows = run(q, k, v, samples=30, tile=16, seq_lens=lens, seed=seed)
        assert bool(out.isfinite().all())
        drawn = rows[0][rows[0] >= 0]
        assert int(drawn.max()) < 65
        assert not bool((drawn % 4 == 3).any())
        assert not out[1].any()
        assert bool((rows[1] == -1).all())
        assert bool((lse[1] == -float("inf")).all())


@ignore_padding
def test_a_tile_without_any_mass_is_left_out(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=48)
    q[:] = 0
    q[:, :, 0] = 1
    k[..., 0] = 0
    k[:, 16:32, :, 0] = -float("inf")
    v[:, 16:32] = float("nan")
    out, _, rows = run(q, k, v, samples=6, tile=16)
    assert bool(out.isfinite().all())
    assert bool((rows[:, :, 2:4] == -1).all())


def test_the_largest_tile_of_equal_scores_is_drawn_evenly(device):
    q = torch.zeros(1, 2, 64, device=device)
    k = torch.zeros(1, 256, 1, 64, device=device)
    v = torch.randn(1, 256, 1, 64, device=device)
    rows = torch.empty(1, 2, 16, dtype=torch.int32, device=device)
    s2anta_flash_decode(q, k, v, samples=16, tile=256, rows=rows)
    # one draw in each sixteenth of the tile: 256 weights of one must not wrap around
    assert (rows // 16 == torch.arange(16, device=device)).all()
