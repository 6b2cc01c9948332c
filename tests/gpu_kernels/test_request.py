import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import families  # noqa: E402
from decode_cases import lengths, make  # noqa: E402

from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.workspace import Workspace  # noqa: E402

CONTEXT = 40


def inputs(name):
    q, k, v = make("cpu", batch=2, context=CONTEXT)
    return {"q": q, "k": families.keys_for(name, k), "v": v}


def refused(name, said, *, interpret=True, **change):
    """Assert that a call on CPU tensors is refused in these words and that nothing was written."""
    right = inputs(name) | families.own_arguments(name)
    out = torch.full((2, 4, 64), 7.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triton.knobs.runtime, "interpret", interpret)
        with pytest.raises(ValueError, match=said):
            families.DECODE[name](**({"out": out} | right | change))
    assert bool((out == 7).all())


@pytest.mark.parametrize("name", families.DECODE)
@pytest.mark.parametrize(
    ("said", "change"),
    [(r"q: must be a torch tensor, got ndarray", {"q": np.zeros((2, 4, 64))}),
     (r"q: must be of rank 3, got shape \(2, 64\)", {"q": torch.zeros(2, 64)}),
     (r"q: must be bfloat16, float16 or float32, got torch\.float64",
      {"q": torch.zeros(2, 4, 64, dtype=torch.float64)}),
     (r"k: must be of q's dtype torch\.float16 or float8_e4m3fn, got torch\.float32",
      {"q": torch.zeros(2, 4, 64, dtype=torch.float16)}),
     (r"v: must be of k's dtype torch\.float32, got torch\.float16",
      {"v": torch.zeros(2, CONTEXT, 2, 64, dtype=torch.float16)}),
     (r"v: must be of k's shape \(2, 40, 2, 64\), got \(2, 41, 2, 64\)",
      {"v": torch.zeros(2, 41, 2, 64)}),
     (r"v: must be of rank 4, got shape \(2, 2, 64\)", {"v": torch.zeros(2, 2, 64)}),
     (r"v: must be on q's device cpu, got meta",
      {"v": torch.zeros(2, CONTEXT, 2, 64, device="meta")}),
     (r"v: must be contiguous along head_dim \(stride 1\), got stride 2",
      {"v": torch.zeros(2, CONTEXT, 2, 128)[..., ::2]}),
     (r"q: must be of a head count divisible by k's 2, got 5", {"q": torch.zeros(2, 5, 64)}),
     (r"q: must be of a head count divisible by k's 2, got 0", {"q": torch.zeros(2, 0, 64)}),
     (r"k: must be of q's batch 3, got 2", {"q": torch.zeros(3, 4, 64)}),
     (r"k: must be of q's head_dim 128, got 64", {"q": torch.zeros(2, 4, 128)}),
     (r"q: must be of head_dim in \(64, 80, 96, 128, 192, 256\), got 72",
      {"q": torch.zeros(2, 4, 72)}),
     (r"sm_scale: must be finite, got nan", {"sm_scale": float("nan")}),
     (r"kv_layout: must be one of NHD, HND, got 'NDH'", {"kv_layout": "NDH"}),
     (r"seq_lens: must be torch\.int32, got torch\.int64", {"seq_lens": torch.tensor([1, 1])}),
     (r"seq_lens: must be of shape \(2,\), got \(1,\)", {"seq_lens": lengths("cpu", 3)}),
     (r"seq_lens: must be within 0\.\.40, the keys that k and v hold, got 3\.\.41",
      {"seq_lens": lengths("cpu", 3, 41)}),
     (r"seq_lens: must be within 0\.\.40, the keys that k and v hold, got -1\.\.3",
      {"seq_lens": lengths("cpu", -1, 3)}),
     (r"k_scale: must be left out unless k and v are float8_e4m3fn", {"k_scale": torch.ones(2)}),
     (r"out: must be of shape \(2, 4, 64\), got \(2, 4, 32\)", {"out": torch.zeros(2, 4, 32)}),
     (r"out: must be torch\.float32, got torch\.float16",
      {"out": torch.zeros(2, 4, 64, dtype=torch.float16)}),
     (r"lse: must be of shape \(2, 4\), got \(2, 5\)", {"lse": torch.zeros(2, 5)})],
)
def test_a_wrong_input_is_refused_naming_argument_requirement_and_value(name, said, change):
    refused(name, said, **change)


@pytest.mark.parametrize("name", families.SAMPLED)
@pytest.mark.parametrize(
    ("said", "change"),
    [(r"samples: must be an integer within 1\.\.2\^24, got 0", {"samples": 0}),
     (r"samples: must be an integer within 1\.\.2\^24, got 2\.5", {"samples": 2.5}),
     (r"samples: must be an integer within 1\.\.2\^24, got True", {"samples": True}),
     (r"tile: must be a power of two within \d+\.\.256 keys, got 48", {"tile": 48}),
     (r"tile: must be a power of two within \d+\.\.256 keys, got 512", {"tile": 512}),
     (r"tile: must be a power of two within \d+\.\.256 keys, got 8", {"tile": 8}),
     (r"offsets: must be one of own, shared, got 'both'", {"offsets": "both"}),
     (r"rows: must be of shape \(2, 4, 24\), got \(2, 4, 25\)",
      {"rows": torch.zeros(2, 4, 25, dtype=torch.int32)}),
     (r"rows: must be torch\.int32, got torch\.int64",
      {"rows": torch.zeros(2, 4, 24, dtype=torch.int64)})],
)
def test_wrong_sampling_is_refused(name, said, change):
    refused(name, said, **change)


@pytest.mark.parametrize("name", families.RANDOM)
@pytest.mark.parametrize(
    ("said", "change"),
    [(r"seed: must be within 0\.\.2\^64-1, got -1", {"seed": -1}),
     (r"seed: must be an integer or an int64 tensor \(seed, step\), got torch\.int32 \(2,\)",
      {"seed": torch.zeros(2, dtype=torch.int32)}),
     (r"step: must be left out when seed is a \(seed, step\) tensor, got 1",
      {"seed": torch.zeros(2, dtype=torch.int64), "step": 1}),
     (r"step: must be within 0\.\.1048575, got 1048576", {"step": 2**20}),
     (r"layer: must be within 0\.\.4095, got 4096", {"layer": 4096})],
)
def test_a_key_of_the_random_numbers_out_of_range_is_refused(name, said, change):
    refused(name, said, **change)


@pytest.mark.parametrize("name", ["s2anta_comb", "s2anta_prop", "bernoulli_qk_flash"])
def test_an_unknown_stash_is_refused(name):
    refused(name, "stash: must be .*float16.*float32, got 'int8'", stash="int8")


@pytest.mark.parametrize("name", families.FEATURE_MAJOR)
@pytest.mark.parametrize(
    ("said", "change"),
    [(r"trials: must be an integer within 1\.\.256, got 0", {"trials": 0}),
     (r"trials: must be an integer within 1\.\.256, got 257", {"trials": 257}),
     (r"trials: must be an integer within 1\.\.256, got 2\.0", {"trials": 2.0}),
     (r"scale: must be one of exact, power_of_two, got 'shift'", {"scale": "shift"}),
     (r"k: must be a torch tensor, got list", {"k": [1]}),
     (r"k: must be of rank 4, \[batch, num_kv_heads, head_dim, n\], got shape \(2, 64, 40\)",
      {"k": torch.zeros(2, 64, CONTEXT)}),
     (r"k: must be contiguous along the keys of a feature \(stride 1\), got stride 64",
      {"k": torch.zeros(2, 2, CONTEXT, 64).transpose(2, 3)}),
     (r"digits: must be torch\.int32, got torch\.int64",
      {"digits": torch.zeros(2, 4, 64, dtype=torch.int64)})],
)
def test_wrong_ternary_arguments_are_refused(name, said, change):
    refused(name, said, **change)


@pytest.mark.parametrize("name", families.DECODE)
def test_without_a_gpu_one_line_says_what_is_needed_and_what_still_works(name):
    refused(name, r"q: must be on a CUDA device .* `reference` modules work.*TRITON_INTERPRET=1.*, "
            "got cpu", interpret=False)
    q, k, v = make("cpu", context=5)
    assert exact_decode(q, k, v)[0].shape == q.shape


def test_a_workspace_grows_once_and_is_reused(device):
    q, k, v = make(device, context=CONTEXT)
    shared = Workspace()
    first = families.DECODE["s2anta_prop"](q, k, v, samples=8, workspace=shared)
    held = shared.nbytes
    again = families.DECODE["s2anta_prop"](q, k, v, samples=8, workspace=shared)
    assert held > 0
    assert shared.nbytes == held
    assert torch.equal(first, again)
    families.DECODE["dense"](q, k, v, workspace=shared)
    assert shared.nbytes == held


@pytest.mark.parametrize("name", families.DECODE)
def test_what_a_workspace_held_before_changes_no_bit(device, name):
    q, k, v = make(device, batch=2, context=CONTEXT)
    keys, lens = families.keys_for(name, k), lengths(device, CONTEXT, 0)
    fresh = families.decode(name, q, keys, v, context=CONTEXT, seq_lens=lens)
    poisoned = Workspace()
    poisoned.cut([((2**18,), torch.float32)], q.device)[0].fill_(float("nan"))
    held = poisoned.nbytes
    again = families.decode(name, q, keys, v, context=CONTEXT, seq_lens=lens, workspace=poisoned)
    assert again.equals(fresh)
    assert poisoned.nbytes == held
