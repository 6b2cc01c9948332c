import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import families  # noqa: E402
import triton.language as tl  # noqa: E402
from decode_cases import assert_close, make  # noqa: E402

from gpu_kernels.bernoulli_qk.reference import decode_given_digits  # noqa: E402
from gpu_kernels.cache_rows import as_float32  # noqa: E402
from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.s2anta_flash.reference import flash_given_rows  # noqa: E402
from gpu_kernels.s2anta_prop.reference import prop_given_rows  # noqa: E402

pytestmark = pytest.mark.gpu
FLOAT8 = torch.float8_e4m3fn


def make_fp8(device, dtype=torch.float16, **shape):
    """q in `dtype`; k, v as float8 with per-head scales, chosen so that values fill the format."""
    q, k, v = make(device, dtype=dtype, **shape)
    kv_heads = k.shape[2]
    scales = {"k_scale": torch.linspace(0.01, 0.02, kv_heads, device=device),
              "v_scale": torch.linspace(0.03, 0.01, kv_heads, device=device)}
    stored = [(c.float() / s[:, None]).to(FLOAT8)
              for c, s in zip((k, v), scales.values(), strict=True)]
    return q, *stored, scales


@triton.jit
def decode_probe(code_ptr, out_ptr):
    at = tl.arange(0, 256)
    tl.store(out_ptr + at, as_float32(tl.load(code_ptr + at)))


def test_every_code_is_decoded_as_torch_does(device):
    codes = torch.arange(256, dtype=torch.uint8, device=device)
    found = torch.empty(256, device=device)
    decode_probe[(1,)](codes, found)
    wanted = codes.view(FLOAT8).float()
    assert int(wanted.isnan().sum()) == 2
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(found.nan_to_num(nan=0.0), wanted.nan_to_num(nan=0.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_dense_matches_float64(device, dtype):
    q, k, v, scales = make_fp8(device, dtype, batch=2, heads=6, kv_heads=2, context=100)
    result = families.decode("dense", q, k, v, context=100, **scales)
    exact, lse = exact_decode(q, k, v, **scales)
    magnitude, _ = exact_decode(q, k, v.float().abs().to(FLOAT8), **scales)
    assert_close(result.out, exact, magnitude, dtype)
    torch.testing.assert_close(result.lse.double(), lse, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", families.RANDOM)
def test_sampled_kernels_match_float64_for_what_they_drew(device, name):
    q, k, v, scales = make_fp8(device, batch=2, heads=6, kv_heads=2, context=100)
    keys = families.keys_for(name, k)
    result = families.decode(name, q, keys, v, context=100, **scales)
    v_abs = v.float().abs().to(FLOAT8)
    flash = {"samples": families.SAMPLES, "tile": families.TILE}

    def given(values):
        if name == "s2anta_flash":
            return flash_given_rows(q, k, values, result.rows, **flash, **scales)
        if name == "s2anta_prop":
            return prop_given_rows(q, k, values, result.rows, tile=families.TILE, **scales)[0]
        if name == "s2anta_comb":
            rows = values.double() * scales["v_scale"].double()[:, None]
            return torch.stack([
                torch.stack([rows[b, result.rows[b, h].long(), h // 3].mean(0) for h in range(6)])
                for b in range(2)])
        drawn = {"rows": result.rows, **flash} if name == "bernoulli_qk_flash" else {}
        return decode_given_digits(q, keys, values, result.digits, trials=3, **drawn, **scales)[0]

    # bernoulli_qk_flash and s2anta_flash weigh tiles by masses; a 16-bit stash rounds each weight
    # to 2^-12: one more term
    assert_close(result.out, given(v), given(v_abs), torch.float16, terms=3)


def test_scales_multiply_logits_and_values(device):
    q, k, v, _ = make_fp8(device, heads=4, kv_heads=2, context=60)
    one = torch.ones(2, device=device)
    plain = families.decode("dense", q / 64, k, v, context=60, k_scale=one, v_scale=one)
    scaled = families.decode("dense", q, k, v, context=60, k_scale=one / 64, v_scale=one / 256)
    # powers of two: the same bits, up to float16's subnormals
    torch.testing.assert_close(plain.out.float() / 256, scaled.out.float(), rtol=2e-3, atol=1e-6)
    torch.testing.assert_close(plain.lse, scaled.lse, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", families.DECODE)
def test_scales_that_do_not_fit_are_refused(device, name):
    q, k, v, scales = make_fp8(device, context=20)
    keys = families.keys_for(name, k)
    cases = [("k_scale", torch.ones(3, device=device), r"k_scale: must be of shape \(2,\)"),
             ("v_scale", torch.ones(2, dtype=torch.float64, device=device),
              r"v_scale: must be torch\.float32, got torch\.float64")]
    for argument, value, said in cases:
        with pytest.raises(ValueError, match=said):
            families.decode(name, q, keys, v, context=20, **(scales | {argument: value}))
    with pytest.raises(ValueError, match="k_scale: must be left out unless"):
        families.decode(name, q, keys.half(), v.half(), context=20, k_scale=scales["k_scale"])
