"""The expected level against the mean of the sampled one, entry by entry of the ledger.

A statistic is the sum over RUNS calls of one count. It may differ from RUNS times its expectation
by Bernstein's bound, M·t/3 + √((M·t/3)² + 2·V·t), which holds with probability 1 − 2·exp(−t) for
independent events of size up to M and total variance V, however rare. V is from the runs, but not
below that of Poisson events of size M. With t = ln(2·entries/1e-3), each test fails by chance with
probability <= 1e-3. `expect` rounds a count once, so that half a count per run is free.
"""

import itertools
import math

import numpy as np
import pytest
from method_cases import SAMPLED, capture_step, random_inputs, run, sampled, z_bound

from hw_models.ledger import OpKind, Phase, Tensor
from santa_sim.methods import decode, expect, label, method

RUNS, BATCH = 30, 12
Q, K, V = random_inputs(17, heads=6, kv_heads=2, n=37, d=4)  # tiles of 8: the last of 5
TERNARY = {"name": "bernoulli_qk", "trials": 5}


def counts_of(ledger):
    """Every operation count, and logical and unique segments of every stream, as one mapping."""
    found = dict(ledger.ops)
    for key, segments in ledger.streams.items():
        found[key, "logical"] = segments.logical
        found[key, "unique"] = segments.unique
    return found


def disagreements(expected, runs, event):
    """Entries off by more than allowed: {entry: (mean, expected, allowed)}.

    event: size M of one event of a weighted accumulation; 1 for all other entries.
    """
    entries = set(expected).union(*runs)
    t = math.log(2 * len(entries) / 1e-3)
    found = {}
    for key in entries:
        values = np.array([run_counts.get(key, 0) for run_counts in runs], np.float64)
        mean = expected.get(key, 0)
        size = event if getattr(key, "kind", None) is OpKind.ACCUMULATE else 1
        total = len(runs) * max(values.var(ddof=1), size * (mean + 0.5))
        bernstein = size * t / 3 + math.sqrt((size * t / 3) ** 2 + 2 * total * t)
        if is_certain(key):
            bernstein = 0.0
        allowed = 0.5 + bernstein / len(runs)
        if abs(values.mean() - mean) > allowed:
            found[key] = (values.mean(), mean, allowed)
    return found


def is_certain(key):
    """Whether an entry is the same in every run: all but draws' rows, digits and tiles won."""
    if isinstance(key, tuple):
        stream, figure = key
        return stream.tensor in (Tensor.Q, Tensor.OUT, Tensor.TILE_MASS) or (
            stream.tensor is Tensor.V and figure == "logical"
        )
    return key.kind in (OpKind.EXP, OpKind.MULTIPLY, OpKind.DIVIDE, OpKind.RANDOM_BITS)


def ids(spec):
    return label(spec).replace(" ", "_")


SPECS = [
    sampled(name, samples, 8, offsets=offsets)
    for name, offsets, samples in itertools.product(SAMPLED, ("own", "shared"), (7, 16))
]


@pytest.mark.parametrize("spec", SPECS, ids=ids)
def test_every_count_and_byte_is_the_mean_over_streams(spec):
    rows = [np.broadcast_to(a, (BATCH, *a.shape[1:])) for a in (Q, K, V)]
    results = [decode(spec, *rows, seed=seed) for seed in range(RUNS)]
    got = expect(spec, *rows[:2])
    runs = [counts_of(result.ledger) for result in results]
    assert disagreements(counts_of(got.ledger), runs, 3 * 4) == {}
    samples = results[0].effective_samples.mean()
    assert got.samples == samples
    # unique rows, unrounded, per KV head
    unique = np.concatenate([r.unique_rows for r in results])
    error = np.sqrt(unique.var(axis=0, ddof=1) / len(unique))
    z = np.abs(unique.mean(axis=0) - got.unique_rows[0]) / np.maximum(error, 1e-9)
    assert z.max() < z_bound(2)


REAL = [
    sampled(name, 200, offsets=offsets)
    for name, offsets in itertools.product(SAMPLED, ("own", "shared"))
]


@pytest.mark.parametrize("trace", ["t0", "t3"])
@pytest.mark.parametrize("spec", REAL, ids=ids)
def test_every_count_and_byte_on_real_attention(spec, trace):
    step = capture_step(trace)
    got = expect(spec, step.q, step.k, sm_scale=step.sm_scale)
    runs = [counts_of(run(spec, step, seed=seed).ledger) for seed in range(RUNS)]
    assert disagreements(counts_of(got.ledger), runs, 3 * 64) == {}


@pytest.mark.parametrize("spec", [
    method("bernoulli_qk", trials=5), method("dense", tile=8, scores=TERNARY),
    method("bernoulli_qk", trials=6, scale="power_of_two", key_layout="token_major"),
], ids=ids)  # fmt: skip
def test_ternary_digits_and_features_are_the_mean_over_streams(spec):
    # scores with noise raise the maximum at other tiles, which only the rescaling shifts see
    rows = [np.broadcast_to(a, (BATCH, *a.shape[1:])) for a in (Q, K, V)]

    def scoring(ledger):
        return {
            key: count for key, count in counts_of(ledger).items()
            if getattr(key, "kind", None) is not OpKind.SHIFT or key.phase is not Phase.MERGE
        }  # fmt: skip

    runs = [scoring(decode(spec, *rows, seed=seed).ledger) for seed in range(2 * RUNS)]
    assert disagreements(scoring(expect(spec, *rows[:2]).ledger), runs, 3 * 37) == {}


@pytest.mark.parametrize("tile", [8, 64])
def test_dense_is_exact(tile):
    step = capture_step("t0")
    got = expect(method("dense", tile=tile), step.q, step.k, sm_scale=step.sm_scale)
    assert got.ledger == run(method("dense", tile=tile), step).ledger
    assert got.samples == step.context
    assert (got.unique_rows == step.context).all()


def test_ragged_batches_add_up():
    q, k, _ = random_inputs(9, batch=3, n=30)
    spec = method("dense", tile=8)
    lens = np.array([30, 0, 11])
    parts = [expect(spec, q[b : b + 1], k[b : b + 1, :n]).ledger for b, n in enumerate(lens)]
    assert expect(spec, q, k, seq_lens=lens).ledger == parts[0] + parts[1] + parts[2]


def test_shared_offsets_change_neither_draws_nor_multiplicities():
    step = capture_step("t0")
    for name in SAMPLED:
        own, shared = (
            expect(sampled(name, 256, offsets=o), step.q, step.k, sm_scale=step.sm_scale).ledger
            for o in ("own", "shared")
        )
        changed = own.difference(shared)
        assert {getattr(key, "kind", None) or key.tensor for key in changed} <= {
            OpKind.RANDOM_BITS, Tensor.V
        }  # fmt: skip
        assert shared.bytes("logical", tensor=Tensor.V) == own.bytes("logical", tensor=Tensor.V)
