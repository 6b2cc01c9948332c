import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from decode_cases import UNIT, lengths, make, teeth_that_differ  # noqa: E402

from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.s2anta_prop.api import s2anta_prop_decode  # noqa: E402
from gpu_kernels.s2anta_prop.reference import largest_remainder, prop_given_rows  # noqa: E402
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
    out, lse = s2anta_prop_decode(q, k, v, samples=samples, rows=rows, return_lse=True, **arguments)
    return out, lse, rows


def per_tile(rows, tile, tiles):
    """Draws that each tile got, int64 [T]."""
    return torch.bincount(rows.cpu().long() // tile, minlength=tiles)


@pytest.mark.parametrize(
    ("samples", "tile", "group", "offsets"),
    [(16, 32, 4, "own"), (16, 32, 4, "shared"), (5, 64, 3, "own"), (600, 16, 2, "own"),
     (40, 128, 1, "own"), (1, 256, 5, "own"), (33, 32, 17, "shared")],
)
def test_draws_the_rows_of_the_cpu_model(device, samples, tile, group, offsets):
    q, k, v = make(device, batch=2, heads=2 * group, context=600, spread=2)
    lens = lengths(device, 600, 61)
    out, lse, rows = run(q, k, v, samples=samples, tile=tile, seq_lens=lens, offsets=offsets,
                         stash="float32", **KEY)
    model = decode(
        method("s2anta_prop", samples=samples, tile=tile, offsets=offsets), q.cpu().numpy(),
        k.cpu().numpy(), v.cpu().numpy(), seq_lens=lens.cpu().numpy().astype(np.int64), **KEY,
    )
    moved, total = teeth_that_differ(rows, model)
    # weights carry about 1e-6: a share of samples·1e-6 < 1e-3 of the draws may change row, and
    # two remainders within samples·1e-6 of each other may change places
    assert moved <= 1 + total // 500
    assert total == samples * 2 * 2 * group
    mean, _ = prop_given_rows(q, k, v, rows, tile=tile, seq_lens=lens)
    torch.testing.assert_close(out.double(), mean, rtol=0, atol=1e-5)
    torch.testing.assert_close(lse.double(), exact_decode(q, k, v, seq_lens=lens)[1],
                               rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("tiles", [1, 3, 5, 31, 33, 37])
def test_budgets_are_the_largest_remainders_for_any_number_of_tiles(device, tiles):
    # the published sort dropped the newest tiles unless T was a power of two
    q, k, v = make(device, heads=2, kv_heads=1, context=16 * tiles - 5, spread=1.5)
    _, _, rows = run(q, k, v, samples=2 * tiles, tile=16, stash="float32", **KEY)
    _, budgets = prop_given_rows(q, k, v, rows, tile=16)
    for h in range(2):
        found = per_tile(rows[0, h], 16, tiles)
        assert int(found.sum()) == 2 * tiles
        # two remainders within 1e-5 may change places
        assert int((found.cpu() - budgets[0][h].cpu()).abs().sum()) <= 2


def test_many_samples_reach_every_tile_with_mass(device):
    q, k, v = make(device, heads=1, kv_heads=1, context=37 * 16 - 9, spread=0.5)
    _, _, rows = run(q, k, v, samples=2000, tile=16)
    assert int(per_tile(rows[0, 0], 16, 37).min()) > 0


def test_equal_remainders_go_to_the_earliest_tiles(device):
    q, k, v = make(device, heads=1, kv_heads=1, context=7 * 16)
    q[:] = 0
    _, _, rows = run(q, k, v, samples=17, tile=16)
    assert per_tile(rows[0, 0], 16, 7).tolist() == [3, 3, 3, 2, 2, 2, 2]
    assert largest_remainder(torch.ones(7, dtype=torch.float64), 17).tolist() == [3] * 3 + [2] * 4


@ignore_padding
def test_bias_is_as_documented_a_tile_without_budget_never_contributes(device):
    # the second tile has 40 % of the mass and S = 1: its remainder loses, whatever the seed
    q, k, v = make(device, heads=2, kv_heads=1, context=32)
    q[:] = 0
    q[:, :, 0] = 1
    k[..., 0] = 0
    k[:, 12:16, :, 0] = k[:, 22:, :, 0] = -float("inf")
    for seed in range(10):
        _, _, rows = run(q, k, v, samples=1, tile=16, seed=seed)
        assert bool((rows < 12).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_output_is_the_mean_of_the_drawn_rows_in_short_formats(device, dtype):
    q, k, v = make(device, dim=80, context=300, dtype=dtype, layout="HND")
    out, lse, rows = run(q, k, v, samples=24, kv_layout="HND", **KEY)
    # every weight of the 16-bit stash is within 2^-11 of itself, and so is their sum: 2^-11·log2 e
    exact_lse = exact_decode(q, k, v, kv_layout="HND")[1]
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-5, atol=8e-4)
    mean, _ = prop_given_rows(q, k, v, rows, tile=64, kv_layout="HND")
    # one rounding of the output (the interpreter truncates to bfloat16), and float32 sums
    allowed = 2 * UNIT[dtype] * mean.abs() + 1e-5
    assert bool(((out.double() - mean).abs() <= allowed).all())


def test_same_seed_and_step_repeat_bitwise_alone_and_in_a_batch(device):
    q, k, v = make(device, batch=2, context=300)
    together = s2anta_prop_decode(q, k, v, samples=20, seed=3, step=4)
    again = s2anta_prop_decode(q, k, v, samples=20, seed=3, step=4)
    alone = s2anta_prop_decode(q[:1], k[:1], v[:1], samples=20, seed=3, step=4)
    assert torch.equal(together, again)
    assert torch.equal(together[0], alone[0])
    for change in ({"step": 5}, {"seed": 4}, {"layer": 1}):
        other = s2anta_prop_decode(q, k, v, samples=20, **({"seed": 3, "step": 4} | change))
        assert not torch.equal(together, other)


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
    for seed in range(3):
        out, lse, rows = run(q, k, v, samples=30, tile=32, seq_lens=lens, seed=seed)
        assert bool(out.isfinite().all())
        drawn = rows[0]
        assert int(drawn.min()) >= 0
        assert int(drawn.max()) < 70
        assert not bool(((drawn % 4 == 3) | ((drawn >= 32) & (drawn < 64))).any())
        assert not out[1].any()
        assert bool((rows[1] == -1).all())
        assert bool((lse[1] == -float("inf")).all())


@ignore_padding
def test_no_score_has_mass(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=70)
    q[:] = 1
    k[:] = -float("inf")
    out, lse, rows = run(q, k, v, samples=9)
    assert not out.any()
    assert bool((rows == -1).all())
    assert bool((lse == -float("inf")).all())


def test_one_row_with_all_the_mass_gets_every_draw(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=400)
    q[:] = 0
    q[:, :, 0] = 1
    k[..., 0] = 0
    k[:, 333, :, 0] = 1e30
    _, _, rows = run(q, k, v, samples=50)
    assert bool((rows == 333).all())


def test_more_tiles_than_one_program_holds_are_refused(device):
    q, k, v = make(device, heads=1, kv_heads=1, context=1)
    k, v = (cache.expand(1, 2**21 + 1, 1, 64) for cache in (k, v))
    with pytest.raises(ValueError, match="tile: must be so long that 2097153 keys make at most"
                                         " 131072 tiles, got 16"):
        s2anta_prop_decode(q, k, v, samples=4, tile=16)
