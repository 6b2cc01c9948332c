import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402
from decode_cases import assert_close, lengths, make  # noqa: E402

from gpu_kernels.cache_rows import row_offsets  # noqa: E402
from gpu_kernels.dense.api import dense_decode  # noqa: E402
from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.split_plan import LaunchPlan  # noqa: E402

pytestmark = pytest.mark.gpu
# rows that only pad the product hold 0·(−inf); nobody reads them
ignore_padding = pytest.mark.filterwarnings(
    "ignore:invalid value encountered in matmul", "ignore:All-NaN slice encountered"
)


def check(q, k, v, **arguments):
    out, lse = dense_decode(q, k, v, return_lse=True, **arguments)
    exact, exact_lse = exact_decode(q, k, v, **arguments)
    magnitude, _ = exact_decode(q, k, v.abs(), **arguments)
    assert_close(out, exact, magnitude, q.dtype)
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-5, atol=1e-4)
    return out, lse


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("layout", ["NHD", "HND"])
def test_values_and_lse_match_float64(device, dtype, layout):
    q, k, v = make(device, batch=2, context=150, dtype=dtype, layout=layout, spread=2)
    check(q, k, v, kv_layout=layout, seq_lens=lengths(device, 150, 70))


@pytest.mark.parametrize("dim", [64, 80, 96, 128, 192, 256])
def test_every_head_dimension(device, dim):
    check(*make(device, dim=dim, context=70))


@pytest.mark.parametrize("group", [1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 71])
def test_every_group_size(device, group):
    check(*make(device, heads=group, kv_heads=1, context=40))


def test_tails_of_tiles(device):
    for n in (1, 2, 63, 64, 65, 127, 128, 129, 191, 192):
        check(*make(device, heads=2, kv_heads=1, context=n, seed=n))


def test_empty_sequence_beside_a_long_one_gives_zeros_and_no_mass(device):
    q, k, v = make(device, batch=3, context=200)
    out, lse = check(q, k, v, seq_lens=lengths(device, 0, 200, 1))
    assert not out[0].any()
    assert bool((lse[0] == -float("inf")).all())


def test_cache_without_rows(device):
    q, k, v = make(device, context=0)
    out, lse = dense_decode(q, k, v, return_lse=True)
    assert not out.any()
    assert bool((lse == -float("inf")).all())


def test_unused_rows_may_hold_nan(device):
    q, k, v = make(device, batch=2, context=130)
    lens = lengths(device, 65, 0)
    for cache in (k, v):
        cache[0, 65:] = float("nan")
        cache[1] = float("nan")
    out, _ = dense_decode(q, k, v, seq_lens=lens, return_lse=True)
    exact, _ = exact_decode(q, k, v, seq_lens=lens)
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=1e-5)


def test_a_sequence_has_the_same_bits_alone_and_in_a_batch(device):
    q, k, v = make(device, batch=3, context=600)
    lens = lengths(device, 600, 17, 333)
    together = dense_decode(q, k, v, seq_lens=lens)
    for b in range(3):
        one = slice(b, b + 1)
        alone = dense_decode(q[one], k[one], v[one], seq_lens=lens[one])
        assert torch.equal(alone[0], together[b])


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 100])
def test_any_number_of_splits(device, splits):
    q, k, v = make(device, context=300)
    exact, _ = exact_decode(q, k, v)
    out = dense_decode(q, k, v, launch=LaunchPlan(32, 4, 2, splits))
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=1e-5)


@pytest.mark.parametrize("splits", [7, 16, 38])
def test_programs_that_share_splits_change_no_bit(device, splits):
    q, k, v = make(device, batch=4, context=600)
    lens = lengths(device, 600, 0, 40, 333)
    (out, lse), *others = [
        dense_decode(q, k, v, seq_lens=lens, return_lse=True,
                     launch=LaunchPlan(16, 4, 2, splits, programs))
        for programs in (None, 1, 2, 3, 5)
    ]
    exact, exact_lse = exact_decode(q, k, v, seq_lens=lens)
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=1e-5)
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-5, atol=1e-4)
    for other, other_lse in others:
        assert torch.equal(other, out)
        assert torch.equal(other_lse, lse)


def test_strided_caches_and_queries(device):
    q, k, v = make(device, batch=2, heads=8, kv_heads=4, context=90)
    wide = torch.cat([k, v], dim=3)
    check(q[:, ::2], wide[:, :, ::2, :64], wide[:, :, ::2, 64:])


@triton.jit
def row_offsets_probe(out_ptr, stride, PAGE_SIZE: tl.constexpr):
    row = tl.arange(0, 4)
    tl.store(out_ptr + row, row_offsets(row, row < 4, None, None, 0, 0, stride, PAGE_SIZE))


def test_offsets_past_2_to_the_31_elements(device):
    out = torch.empty(4, dtype=torch.int64, device=device)
    row_offsets_probe[(1,)](out, 2**30, PAGE_SIZE=0)
    assert out.tolist() == [0, 2**30, 2**31, 3 * 2**30]


@ignore_padding
@pytest.mark.parametrize("height", [1e30, -1e30, -float("inf")])
def test_extreme_scores(device, height):
    q, k, v = make(device, heads=2, kv_heads=1, context=70)
    q[:] = 0
    q[:, :, 0] = 1
    k[0, :, :, 0] = 0
    k[0, 5, :, 0] = height
    exact, exact_lse = exact_decode(q, k, v)
    out, lse = dense_decode(q, k, v, return_lse=True)
    torch.testing.assert_close(out.double(), exact, rtol=0, atol=1e-5)
    torch.testing.assert_close(lse.double(), exact_lse, rtol=1e-6, atol=1e-5)


@ignore_padding
def test_no_score_has_mass(device):
    q, k, v = make(device, heads=2, kv_heads=1, context=70)
    q[:] = 1
    k[:] = -float("inf")
    out, lse = dense_decode(q, k, v, return_lse=True)
    assert not out.any()
    assert bool((lse == -float("inf")).all())
