"""What holds for every method, shape and score."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from method_cases import SAMPLED, sampled

from hw_models.ledger import Dtype, OpKind, Phase, Tensor
from santa_sim.methods import decode, expect, method
from santa_sim.methods.spec import value_stage
from santa_sim.storage import decode_stored, encode

scores = st.one_of(
    st.just({"name": "exact"}),
    st.builds(
        lambda trials, scale: {"name": "bernoulli_qk", "trials": trials, "scale": scale},
        st.integers(1, 5),
        st.sampled_from(["exact", "power_of_two"]),
    ),
)
methods = st.one_of(
    st.builds(lambda tile, how: method("dense", tile=tile, scores=how), st.integers(1, 40), scores),
    st.builds(
        lambda name, samples, tile, offsets, how, rounding: sampled(
            name, samples, tile, offsets=offsets, scores=how, round_samples=rounding
        ),
        st.sampled_from(SAMPLED),
        st.integers(1, 60),
        st.integers(1, 40),
        st.sampled_from(["own", "shared"]),
        scores,
        st.sampled_from(["none", "power_of_two"]),
    ),
)


@st.composite
def inputs(draw):
    """(q, k, v, seq_lens): scores from equal over ordinary to peaked beyond float32's exponents."""
    batch, kv_heads, group = (draw(st.integers(1, 3)) for _ in range(3))
    n, d = draw(st.integers(0, 35)), draw(st.integers(1, 9))
    dtype = draw(st.sampled_from([Dtype.FP32, Dtype.FP16, Dtype.BF16]))
    size = draw(st.sampled_from([0.0, 1e-20, 1.0, 30.0, 1e4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    q = (size * rng.normal(size=(batch, kv_heads * group, d))).astype(np.float32)
    k, v = (encode(rng.normal(size=(batch, n, kv_heads, d)), dtype) for _ in range(2))
    lens = np.array([draw(st.integers(0, n)) for _ in range(batch)])
    return q, k, v, lens


def masses(q, k, sm_scale):
    """float64 exp(s − max s) of one head."""
    s = decode_stored(k).astype(np.float64) @ q.astype(np.float64) * sm_scale
    return np.exp(s - s.max())


@settings(max_examples=300)
@given(methods, inputs(), st.integers(0, 2**64 - 1))
def test_rows_counts_outputs_and_ledgers_are_sound(spec, arrays, seed):
    q, k, v, lens = arrays
    _, heads, d = q.shape
    group = heads // k.shape[2]
    got = decode(spec, q, k, v, seq_lens=lens, seed=seed)
    assert np.isfinite(got.out).all()
    for b, n in enumerate(lens):
        for h in range(heads):
            values = decode_stored(v[b, :n, h // group])
            if n == 0:
                assert not got.out[b, h].any()
                continue
            # a mean of rows lies within their hull, up to the rounding of float32
            slack = 1e-6 * np.abs(values).max()
            assert (got.out[b, h] >= values.min(axis=0) - slack).all()
            assert (got.out[b, h] <= values.max(axis=0) + slack).all()
            if got.rows is None:
                continue
            rows, times = got.rows.of(b, h)
            assert rows.min() >= 0
            assert rows.max() < n
            assert (np.diff(rows) > 0).all()
            assert (times > 0).all()
            assert times.sum() == got.effective_samples[b, h]
            if spec.scores.name == "exact" and value_stage(spec) != "s2anta_flash":
                # float32 scores near 1e4·√d are off by up to 1e-2
                mass = masses(q[b, h], k[b, :n, h // group], d**-0.5)
                assert (mass[rows] > 1e-46 * np.exp(-0.1)).all()
            used = values[rows].astype(np.float64)
            if value_stage(spec) != "s2anta_flash":
                mean = times @ used / times.sum()
                np.testing.assert_allclose(got.out[b, h], mean, rtol=1e-6, atol=slack)
    live = int((lens > 0).sum()) * k.shape[2]
    assert got.ledger.bytes("unique", tensor=Tensor.V) <= got.ledger.bytes(
        "logical", tensor=Tensor.V
    )
    assert got.ledger.count(OpKind.EXP) == int(lens.sum()) * heads
    assert (got.ledger.count() > 0) == (live > 0)
    if got.rows is not None:
        assert int(got.unique_rows.sum()) * d * k.dtype.itemsize == got.ledger.bytes(
            "unique", tensor=Tensor.V
        )
        accumulated = sum(
            key.multiplicity * count for key, count in got.ledger.ops.items()
            if key.kind is OpKind.ACCUMULATE and key.phase is Phase.VALUE
        )  # fmt: skip
        assert accumulated == int(got.effective_samples.sum()) * d



@settings(max_examples=150)
@given(methods, inputs())
def test_expectations_are_within_what_can_happen(spec, arrays):
    q, k, _, lens = arrays
    got = expect(spec, q, k, seq_lens=lens)
    assert (got.unique_rows >= -1e-9).all()
    assert (got.unique_rows <= lens[:, None] * (1 + 1e-9)).all()
    assert got.ledger.count(OpKind.EXP) == int(lens.sum()) * q.shape[1]
