import numpy as np
import pytest

from hw_models.ledger import Dtype
from hw_models.problems import SpecError
from santa_sim.data.geometry import Geometry, load_geometry
from santa_sim.data.laws import FlatGaussian, SinkLocalHeavy, Zipf
from santa_sim.data.synthetic import make_step
from santa_sim.data.synthetic_keys import magnitudes
from santa_sim.storage import decode_stored, encode

LAWS = [FlatGaussian(), Zipf(), SinkLocalHeavy()]


def geometry(group_size=4, head_dim=64, kv_heads=2):
    return Geometry(
        name="test", num_qo_heads=group_size * kv_heads, num_kv_heads=kv_heads, head_dim=head_dim,
        num_layers=1, max_context=10**6, source="made up",
    )


def made(shape=None, context=1024, law=LAWS[2], dtype=Dtype.BF16, seed=0, batch=1, **parameters):
    shape = shape or geometry()
    parameters = {"simulated_kv_heads": shape.num_kv_heads, "effective_support": 20, **parameters}
    return make_step(shape, context, batch, law, dtype, seed, **parameters)


def heads_of(step):
    """Yield (q, K, V) in float64 for every query head of every sequence."""
    for b in range(step.batch):
        for head in range(step.num_qo_heads):
            h = head // step.group_size
            yield (
                step.q[b, head].astype(np.float64),
                decode_stored(step.k[b, :, h]).astype(np.float64),
                decode_stored(step.v[b, :, h]).astype(np.float64),
            )


def weights(q, k, sm_scale):
    logits = k @ q * sm_scale
    p = np.exp(logits - logits.max())
    return p / p.sum()


def supports(step):
    return np.array([
        1 / np.square(weights(q, k, step.sm_scale)).sum() for q, k, _ in heads_of(step)
    ])


def ternary_rmse(step):
    found = []
    for q, k, _ in heads_of(step):
        variance = np.abs(q).max() * np.abs(q) - q**2
        found.append(step.sm_scale * np.sqrt((variance * k.var(axis=0)).sum()))
    return np.array(found)


def coherences(step):
    found = []
    for q, k, v in heads_of(step):
        p = weights(q, k, step.sm_scale)
        found.append(np.square(p @ v).sum() / (p @ np.square(v).sum(axis=1)))
    return np.array(found)


# a number K_ij is rounded by at most 2^-9 of itself in bf16 (2^-12 in fp16), so independent
# roundings move a logit by at most 2^-9 sm_scale |q·K_i| in root sum of squares: below 0.02 here,
# with different signs in different rows
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(Dtype.BF16, 0.03), (Dtype.FP16, 0.005), (Dtype.FP32, 0.002)]
)
@pytest.mark.parametrize(("context", "support"), [(1, 1), (3, 2), (40, 5), (2048, 1.5),
                                                  (2048, 30), (2048, 1500), (20_000, 8)])
def test_stored_arrays_have_the_support_asked_for(law, dtype, tolerance, context, support):
    step = made(context=context, law=law, dtype=dtype, effective_support=support)
    assert step.dtype is dtype
    assert supports(step) == pytest.approx(np.full(8, support), rel=tolerance)


@pytest.mark.parametrize("group_size", [1, 3, 4, 8])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_every_head_of_a_group_has_its_own_support(group_size, head_dim):
    asked = np.geomspace(1.5, 300, 2 * group_size)
    step = made(geometry(group_size, head_dim), effective_support=asked)
    assert (step.num_qo_heads, step.head_dim) == (2 * group_size, head_dim)
    assert supports(step) == pytest.approx(asked, rel=0.03)


def test_fewer_keys_than_heavy_hitters_are_all_heavy():
    law = SinkLocalHeavy(heavy_hitters=500)
    assert supports(made(context=40, law=law)) == pytest.approx(np.full(8, 20), rel=0.03)


@pytest.mark.parametrize("context", [1, 30])
def test_a_support_out_of_reach_is_refused(context):
    with pytest.raises(SpecError, match=rf"^effective_support: 31 rows .* to {context}$"):
        made(context=context, effective_support=31)


def same(one, other):
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in ("q", "k", "v")
    )


@pytest.mark.parametrize("dtype", [Dtype.BF16, Dtype.FP16])
def test_queries_are_numbers_of_the_storage_format(dtype):
    q = made(dtype=dtype).q
    assert np.array_equal(decode_stored(encode(q, dtype)), q)


def test_a_seed_gives_the_same_bytes_and_another_seed_others():
    assert same(made(seed=3), made(seed=3))
    assert not same(made(seed=3), made(seed=4))


def test_sequences_differ_and_do_not_depend_on_the_batch():
    three, two = made(batch=3), made(batch=2)
    assert not np.array_equal(three.k[0], three.k[1])
    for name in ("q", "k", "v"):
        assert np.array_equal(getattr(three, name)[:2], getattr(two, name))


def test_kv_heads_left_out_do_not_change_the_others_and_are_counted():
    shape = geometry(kv_heads=4)
    few, all_of_them = made(shape, simulated_kv_heads=2), made(shape)
    assert np.array_equal(few.k, all_of_them.k[:, :, :2])
    assert (few.represents, all_of_them.represents) == (2, 1)


@pytest.mark.parametrize("name", ["llama-3.1-8b", "smollm2-135m"])
def test_one_ternary_trial_errs_as_asked(name):
    shape = load_geometry(name)
    asked = np.linspace(2, 6, shape.group_size)
    step = made(shape, context=4096, simulated_kv_heads=1, effective_support=30,
                ternary_rmse_logits=asked)
    # the variance of Z over 4096 keys errs by sqrt(2/4096) = 2.2 % in each of some 20 features
    # that matter; its cross term with the logits by as much
    assert ternary_rmse(step) == pytest.approx(asked, rel=0.03)


def test_coupling_leaves_error_and_support_as_asked():
    step = made(context=4096, ternary_rmse_logits=3, key_value_coupling=1)
    assert supports(step) == pytest.approx(np.full(8, 20), rel=0.03)
    # the rmse errs by half of what the variances of 4 factors do, sqrt(2/4096/4)/2 = 0.6 %, and by
    # their cross term with the logits
    assert ternary_rmse(step) == pytest.approx(np.full(8, 3), rel=0.02)


def test_a_ternary_error_below_that_of_the_logits_is_refused():
    with pytest.raises(SpecError, match=r"^ternary_rmse_logits: 0\.1 logits cannot be reached"):
        made(ternary_rmse_logits=0.1)


@pytest.mark.parametrize("density", [0.1, 0.2, 0.5, 0.9])
def test_a_query_is_as_dense_as_asked(density):
    q = np.abs(made(geometry(2), query_density=density, dtype=Dtype.FP32).q)
    assert q.mean(axis=-1) / q.max(axis=-1) == pytest.approx(np.full((1, 4), density), rel=1e-4)


def test_magnitudes_run_from_one_feature_to_all_alike():
    assert magnitudes(64, 1.0) == pytest.approx(np.ones(64))
    assert magnitudes(64, 1 / 64)[1:].max() < 1e-6


def test_nearly_parallel_queries_are_refused():
    with pytest.raises(SpecError, match=r"^query_density: must be higher than 0\.0156 for 8 query"):
        made(geometry(8), query_density=1 / 64)


@pytest.mark.parametrize("coupling", [0.0, 0.4])
@pytest.mark.parametrize("asked", [0.06, 0.3, 0.95])
def test_values_agree_as_asked_in_the_mean(asked, coupling):
    step = made(geometry(4, 128, 8), effective_support=40, value_coherence=asked, batch=2,
                key_value_coupling=coupling)
    # over 64 heads: Σ p_i ε_i adds Σp² = 1/40, which errs by sqrt(2/d), or with coupling by
    # sqrt(2/4); the cross term 2 sqrt(asked/40/d); divided by sqrt(16 groups)
    tolerance = 4 / 4 * (0.025 * (2 / 4) ** 0.5 + 2 * (asked * (1 - asked) / 40 / 128) ** 0.5)
    assert coherences(step).mean() == pytest.approx(asked, abs=tolerance)


def test_values_are_independent_by_default():
    step = made(geometry(4, 128, 8), effective_support=5, batch=2)
    assert coherences(step).mean() == pytest.approx(0.2, abs=0.02)


def test_values_that_agree_less_than_a_row_with_itself_are_refused():
    with pytest.raises(SpecError, match=r"^value_coherence: must be within 0\.25\.\.1"):
        made(effective_support=4, value_coherence=0.1)


def keys_meet_values(coupling):
    """Return how far q-independent key features tell values apart: squared correlation."""
    step = made(geometry(1, 64, 1), context=4096, effective_support=4000, dtype=Dtype.FP32,
                key_value_coupling=coupling)
    _, k, v = next(heads_of(step))
    return np.square((k - k.mean(axis=0)).T @ v / 4096).sum()


def test_coupled_keys_tell_values():
    # covariance share·(d/4) along 4 directions: Σ² = 4 (16 share)²; without it d² cells of 1/n
    assert keys_meet_values(0.0) == pytest.approx(1.0, rel=0.2)
    assert keys_meet_values(0.5) == pytest.approx(4 * 8**2, rel=0.2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"effective_support": 0.5}, "effective_support: must be finite and at least 1, got 0.5"),
        ({"effective_support": np.nan}, "effective_support: must be finite and at least 1"),
        ({"effective_support": [2, 3]}, "effective_support: must be one number or one per query"),
        ({"ternary_rmse_logits": -1}, "ternary_rmse_logits: must be finite and at least 0, got -1"),
        ({"query_density": 0.001}, "query_density: must be finite and within 0.015625..1"),
        ({"value_coherence": 1.5}, "value_coherence: must be finite and within 0..1, got 1.5"),
        ({"key_value_coupling": 2}, "key_value_coupling: must be finite and within 0..1, got 2"),
        ({"simulated_kv_heads": 3}, "simulated_kv_heads: must divide the 2 KV heads of test"),
        ({"context": 0}, "context: must be at least 1, got 0"),
        ({"batch": 0}, "batch: must be at least 1, got 0"),
        ({"query_density": 1, "ternary_rmse_logits": 1}, "ternary_rmse_logits: cannot be above 0"),
        ({"shape": geometry(65)}, "geometry: 65 query heads per KV head cannot"),
    ],
)
def test_a_wrong_parameter_is_named_in_one_line(parameters, message):
    with pytest.raises(SpecError) as caught:
        made(**parameters)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
