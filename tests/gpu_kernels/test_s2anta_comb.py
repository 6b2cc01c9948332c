import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from decode_cases import UNIT, lengths, make, teeth_that_differ  # noqa: E402

from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.s2anta_comb.api import s2anta_comb_decode  # noqa: E402
from santa_sim.methods import method  # noqa: E402
from santa_sim.methods.decode import decode  # noqa: E402

pytestmark = pytest.mark.gpu
# rows that only pad the product hold 0·(−inf); nobody reads them
ignore_padding = pytest.mark.filterwarnings(
    "ignore:invalid value encountered in matmul", "ignore:All-NaN slice encountered"
)
KEY = {"seed": 2**63 + 12345, "step": 5, "layer": 3}


def run(q, k, v, *, samples, **arguments):
    rows = torch.empty(*q.shape[:2], samples, dtype=torch.int32, device=q.device)
    out, lse = s2anta_comb_decode(q, k, v, samples=samples, rows=rows, return_lse=True, **arguments)
    return out, lse, rows


def mean_of(rows, v):
    """Mean of the drawn rows, float64 [B, H, d]; zeros where none were drawn."""
    batch, heads, _ = rows.shape
    group = heads // v.shape[2]
    out = torch.zeros(batch, heads, v.shape[3], dtype=torch.float64, device=v.device)
    for b in range(batch):
        for h in range(heads):
            if int(rows[b, h, 0]) >= 0:
                out[b, h] = v[b, rows[b, h].long(), h // group].double().mean(0)
    return out


@pytest.mark.parametrize(
    ("samples", "tile", "group", "offsets"),
    [(16, 32, 4, "own"), (16, 32, 4, "shared"), (5, 64, 3, "own"), (600, 32, 2, "own"),
     (40, 128, 1, "own"), (33, 32, 17, "shared")],
)
def test_draws_the_rows_of_the_cpu_model(device, samples, tile, group, offsets):
    q, k, v = make(device, batch=2, heads=2 * group, context=600, spread=2)
    lens = lengths(device, 600, 61)
    out, lse, rows = run(q, k, v, samples=samples, tile=tile, seq_lens=lens, offsets=offsets,
                         stash="float32", **KEY)
    model = decode(
        method("s2anta_comb", samples=samples, tile=tile, offsets=offsets), q.cpu().numpy(),
        k.cpu().numpy(), v.cpu().numpy(), seq_lens=lens.cpu().numpy().astype(np.int64), **KEY,
    )
    moved, total = teeth_that_differ(rows, model)
    # the CDF carries about 1e-6, so a share of samples·1e-6 < 1e-3 of the teeth may move
    assert moved <= 1 + total // 500
    assert total == samples * 2 * 2 * group
    torch.testing.assert_close(out.double(), mean_of(rows, v), rtol=0, atol=1e-5)
    torch.testing.assert_close(lse.double(), exact_decode(q, k, v, seq_lens=lens)[1],
                               rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_output_is_the_mean_of_the_drawn_rows_in_short_formats(device, dtype):
    q, k, v = make(device, dim=80, context=100, dtype=dtype)
    out, _, rows = run(q, k, v, samples=24, **KEY)
    mean = mean_of(rows, v)
    # one rounding of the output (the interpreter truncates to bfloat16), and float32 sums
    allowed = 2 * UNIT[dtype] * mean.abs() + 1e-5
    assert bool(((out.double() - mean).abs() <= allowed).all())


def test_a_16_bit_stash_moves_few_teeth(device):
    # each weight is rounded to 2^-12 of itself: a tooth moves if an edge of the CDF passes it,
    # with a chance below S·2^-12·max p, here 256·2^-12·0.3 < 2 %
    q, k, v = make(device, heads=2, context=500, spread=2)
    _, _, short = run(q, k, v, samples=256, **KEY)
    _, _, long = run(q, k, v, samples=256, stash="float32", **KEY)
    assert float((short != long).double().mean()) < 0.04


def test_rows_do_not_depend_on_the_tile(device):
    q, k, v = make(device, heads=2, context=500, spread=2)
    rows = [run(q, k, v, samples=64, tile=tile, stash="float32", **KEY)[2] for tile in (32, 256)]
    assert int((rows[0] != rows[1]).sum()) <= 1


def test_mean_over_draws_is_exact_attention(device):
    # as for s2anta_flash: false alarm < 2e-4
    q, k, v = make(device, heads=4, kv_heads=1, context=40, spread=1.5)
    batch = 40
    out = s2anta_comb_decode(
        q.expand(batch, -1, -1), k.expand(batch, -1, -1, -1), v.expand(batch, -1, -1, -1),
        samples=6, tile=32, seed=7, stash="float32",
    ).double().cpu()
    exact = exact_decode(q, k, v)[0][0].cpu()
    z = (out.mean(0) - exact) / (out.std(0) / batch**0.5 + 1e-9)
    assert float(out.std(0).min()) > 1e-3
    assert float(z.abs().max()) < 6


def test_same_seed_and_step_repeat_bitwise_alone_and_in_a_batch(device):
    q, k, v = make(device, batch=2, context=300)
    together = s2anta_comb_decode(q, k, v, samples=20, seed=3, step=4)
    again = s2anta_comb_decode(q, k, v, samples=20, seed=3, step=4)
    alone = s2anta_comb_decode(q[:1], k[:1], v[:1], samples=20, seed=3, step=4)
    assert torch.equal(together, again)
    assert torch.equal(together[0], alone[0])
    assert not torch.equal(together, s2anta_comb_decode(q, k, v, samples=20, seed=3, step=5))


@ignore_padding
def test_rows_without_probability_and_unused_rows_are_never_read(device):
    q, k, v = make(device, batch=2, heads=2, kv_heads=1, context=130)
    q[:] = 0
    q[:, :, 0] = 1
    k[..., 0] = 0
    k[:, 3::4, :, 0] = -1e30
    k[:, 32:64, :, 0] = -float("inf")
    v[:, 3::4] = v[:, 32:64] = float("nan")
    k[0, 70:] = v[0, 70:] = float("nan")
    k[1] = v[1] = float("nan")
    lens = lengths(device, 70, 0)
    for seed in range(5):
        out, lse, rows = run(q, k, v, samples=30, tile=32, seq_lens=lens, seed=seed)
        assert bool(out.isfinite().all())
        drawn = rows[0]
        assert int(drawn.max()) < 70
        assert not bool(((drawn % 4 == 3) | ((drawn >= 32) & (drawn < 64))).any())
        assert not out[1].any()
        assert bool((rows[1] == -1).all())
        assert bool((lse[1] == -float("inf")).all())


def test_one_row_with_all_the_mass_gets_every_draw(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=400)
    q[:] = 0
    q[:, :, 0] = 1
    k[..., 0] = 0
    k[:, 333, :, 0] = 1e30
    out, _, rows = run(q, k, v, samples=50)
    assert bool((rows == 333).all())
    torch.testing.assert_close(out[0, 0].double(), v[0, 333, 0].double(), rtol=0, atol=1e-5)


def test_every_row_is_drawn_as_often_as_its_probability_says(device):
    # a comb of S teeth gives a row ⌊S·p⌋ or ⌈S·p⌉ draws
    q, k, v = make(device, heads=2, kv_heads=1, context=300, spread=2)
    samples = 900
    _, _, rows = run(q, k, v, samples=samples, stash="float32", seed=11)
    p = torch.softmax(k[0, :, 0].double() @ q[0].double().T / 8, 0).cpu()
    for h in range(2):
        counts = torch.bincount(rows[0, h].cpu().long(), minlength=300).double()
        assert float((counts - samples * p[:, h]).abs().max()) < 1 + 1e-2
