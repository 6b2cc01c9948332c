from pathlib import Path

import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")

from gpu_kernels.bench import moved  # noqa: E402
from gpu_kernels.bench.candidates import candidates  # noqa: E402
from gpu_kernels.bench.config import BenchConfig, load_config  # noqa: E402
from gpu_kernels.bench.inputs import float8_inputs  # noqa: E402
from gpu_kernels.bench.run import make_inputs, shape_of  # noqa: E402
from gpu_kernels.dense.reference import dense_decode as reference  # noqa: E402

SMALL = {
    "geometry": {"num_qo_heads": 4, "num_kv_heads": 2, "head_dim": 64, "dtype": "float16"},
    "sizes": [{"batch": 2, "context": 256}], "inputs": [{"kind": "flat"}], "peers": [],
    "kernels": [
        {"name": "dense"},
        {"name": "s2anta_flash", "keys_per_sample": 16, "tile": 32},
        {"name": "s2anta_comb", "keys_per_sample": 16, "tile": 32},
        {"name": "s2anta_prop", "keys_per_sample": 16, "tile": 32},
        {"name": "bernoulli_qk", "trials": 2},
        {"name": "bernoulli_qk_flash", "trials": 2, "keys_per_sample": 16, "tile": 32},
    ],
    "l2": ["cold"], "repeats": 5,
}


def point(device, **geometry):
    config = BenchConfig.model_validate(
        SMALL | {"geometry": SMALL["geometry"] | geometry})
    inputs = make_inputs(config, config.sizes[0], config.inputs[0], device)
    return config, shape_of(config, config.sizes[0]), inputs


@pytest.mark.parametrize("geometry", [{}, {"kv_layout": "HND"}, {"kv_dtype": "float8_e4m3fn"}])
def test_every_kernel_runs_and_moves_no_more_than_the_cache_and_its_stash(device, geometry):
    config, shape, inputs = point(device, **geometry)
    exact = reference(inputs.q, inputs.k, inputs.v, kv_layout=config.geometry.kv_layout,
                      k_scale=inputs.k_scale, v_scale=inputs.v_scale)[0]
    whole = moved.whole_cache_bytes(shape, inputs.k.element_size())
    found = {c.name: c for c in candidates(config, shape, inputs, pytest.fail)}
    assert list(found) == [kernel["name"] for kernel in SMALL["kernels"]]
    for name, candidate in found.items():
        assert candidate.call().isfinite().all()
        stash = moved.stash_bytes(shape, candidate.effective_samples, candidate.tile or 32, 2)
        assert 0 < candidate.moved_bytes <= whole + stash
        if name not in ("dense", "bernoulli_qk"):
            # 16 draws of 256 keys by two heads: an eighth of the values at most
            assert candidate.moved_bytes - stash <= whole * (1 / 2 + 1 / 16) + 1
    error = (found["dense"].call().double() - exact).norm() / exact.norm()
    # outputs of 11 bits: a rounding of 2^-11 each
    assert error < 2**-10


def test_float8_caches_keep_every_value_within_a_rounding_of_3_bits(device):
    _, _, inputs = point(device)
    stored = float8_inputs(inputs, "NHD")
    again = stored.v.float() * stored.v_scale[:, None]
    scale = stored.v_scale[:, None]
    # half a unit in the last of 4 bits, or half of the smallest subnormal, 2^-9, times the scale
    allowed = torch.maximum(inputs.v.float().abs() * 2**-4, scale * 2**-10) * (1 + 1e-6)
    assert ((again - inputs.v.float()).abs() <= allowed).all()
    assert stored.v.float().abs().amax((0, 1, 3)).tolist() == [448.0, 448.0]


def test_variants_replace_only_what_they_name():
    config = BenchConfig.model_validate(SMALL | {"variants": [
        {"geometry": SMALL["geometry"] | {"head_dim": 128}, "l2": ["warm"], "peers": []}]})
    first, second = config.parts()
    assert (first.geometry.head_dim, second.geometry.head_dim) == (64, 128)
    assert (first.l2, second.l2) == (["cold"], ["warm"])
    assert second.kernels == first.kernels
    assert second.sizes == first.sizes


def test_the_file_that_is_run_names_every_kernel_and_the_targets_sizes():
    config = load_config(Path(__file__).parents[2] / "benchmarks" / "decode.yaml")
    parts = config.parts()
    assert {k.name for part in parts for k in part.kernels} == {
        kernel["name"] for kernel in SMALL["kernels"]}
    cold = [(s.batch, s.context) for s in parts[0].sizes]
    assert {(1, 32768), (4, 32768), (16, 32768)} <= set(cold)
    assert {kind.kind for kind in parts[0].inputs} == {"flat", "capture"}


@pytest.mark.parametrize(("kernel", "message"), [
    ({"name": "s2anta_comb"}, "keys_per_sample"),
    ({"name": "bernoulli_qk"}, "trials"),
    ({"name": "dense", "trials": 3}, "trials"),
])
def test_a_kernel_without_its_numbers_is_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        BenchConfig.model_validate(SMALL | {"kernels": [kernel]})
