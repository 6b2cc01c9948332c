import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from hw_models.problems import SpecError
from santa_sim.data.laws import (
    LEAST_LEAD,
    SUPPORT_TOLERANCE,
    FlatGaussian,
    SinkLocalHeavy,
    SyntheticLaw,
    Zipf,
    effective_support,
    solve_scale,
)

LAWS = [FlatGaussian(), Zipf(), SinkLocalHeavy()]


def support_in_float64(logits):
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return 1 / np.square(p).sum()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
@pytest.mark.parametrize("context", [1, 2, 5, 300, 4096])
def test_a_pattern_has_one_finite_number_per_head_and_key(law, context):
    pattern = law.pattern(np.random.default_rng(0), 3, context)
    assert pattern.shape == (3, context)
    assert pattern.dtype == np.float32
    assert np.isfinite(pattern).all()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
@pytest.mark.parametrize(("context", "target"), [(1, 1), (2, 1.5), (100, 1.3), (4096, 1.3),
                                                 (4096, 40), (4096, 4000)])
def test_solved_scale_meets_the_support(law, context, target):
    for pattern in law.pattern(np.random.default_rng(1), 4, context):
        logits = solve_scale(pattern, target, law) * pattern.astype(np.float64)
        # exp of float32 arguments up to 100 errs by 100 · 2^-24 = 6e-6 of each weight
        assert support_in_float64(logits) == pytest.approx(target, rel=SUPPORT_TOLERANCE + 1e-4)


@given(
    st.lists(st.floats(-10, 10, width=32), min_size=1, max_size=30),
    st.floats(0, 5), st.floats(0, 5),
)
def test_support_never_rises_with_the_scale(pattern, one, other):
    u = np.array(pattern, np.float32)
    low, high = sorted((one, other))
    assert effective_support(u, high) <= effective_support(u, low) * (1 + 1e-5)


@pytest.mark.parametrize(("context", "target"), [(10, 11), (1, 2), (1000, 0.5)])
def test_a_support_out_of_reach_is_refused_with_the_reachable_range(context, target):
    law = FlatGaussian()
    pattern = law.pattern(np.random.default_rng(0), 1, context)[0]
    with pytest.raises(SpecError) as caught:
        solve_scale(pattern, target, law)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("effective_support: ")
    assert f"to {context}" in text


def test_equal_scores_reach_only_the_full_support():
    with pytest.raises(SpecError, match="reaches 8 to 8"):
        solve_scale(np.zeros(8, np.float32), 4, FlatGaussian())


@pytest.mark.parametrize("law", [FlatGaussian, Zipf], ids=lambda law: law.__name__)
@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
def test_heads_of_a_group_rank_the_keys_alike_as_far_as_asked(law, overlap):
    n = 20_000
    pattern = law(head_overlap=overlap).pattern(np.random.default_rng(3), 2, n)
    ranks = pattern.argsort(axis=1).argsort(axis=1)
    # Spearman's rank correlation of a bivariate normal; its standard error is below n^-1/2 = 0.007
    expected = 6 / np.pi * np.arcsin(overlap / 2)
    assert np.corrcoef(ranks)[0, 1] == pytest.approx(expected, abs=0.03)


def test_sink_recent_keys_and_heavy_hitters_stand_out():
    law = SinkLocalHeavy(heavy_hitters=4, heavy_height=9, sink_height=8, sink_tokens=2)
    pattern = law.pattern(np.random.default_rng(0), 2, 10_000)
    assert (pattern[:, :2] == 8).all()
    # recency takes no key above 4.0 + 3; e_i > 0
    assert (np.count_nonzero(pattern > 9, axis=1) == 4).all()
    middle = pattern[:, 2:5000].mean()
    # halfway in the logarithm of 1..2049 the recency is half the height of 3; 40 keys around it
    assert pattern[:, -65:-25].mean() - middle == pytest.approx(1.5, abs=0.5)
    assert pattern[:, -3000:-2100].mean() - middle == pytest.approx(0, abs=0.15)


def test_one_key_leads_so_that_supports_near_one_can_be_reached():
    pattern = SinkLocalHeavy().pattern(np.random.default_rng(0), 50, 1000)
    second, first = np.sort(pattern, axis=1)[:, -2:].T
    assert (first - second > LEAST_LEAD * 0.999).all()


def test_heavy_hitters_are_shared_as_far_as_asked():
    law = SinkLocalHeavy(heavy_hitters=40, heavy_height=20, head_overlap=0.5)
    heavy = law.pattern(np.random.default_rng(0), 2, 5000) >= 20
    assert heavy.sum(axis=1).tolist() == [40, 40]
    assert 20 <= (heavy[0] & heavy[1]).sum() <= 24  # 20 own ones meet by chance 0.08 times


def test_a_law_is_told_by_its_kind_and_knows_its_keys():
    adapter = TypeAdapter(SyntheticLaw)
    assert isinstance(adapter.validate_python({"kind": "zipf"}), Zipf)
    with pytest.raises(ValidationError):
        adapter.validate_python({"kind": "zipf", "exponent": 1})
    with pytest.raises(ValidationError):
        adapter.validate_python({"kind": "pareto"})
