"""What keys the draws: seed, step, layer, batch row and head, and nothing else."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from method_cases import SAMPLED, every_method, random_inputs, sampled

from santa_sim.methods import decode, label, method

TERNARY = {"name": "bernoulli_qk", "trials": 4}


def ids(spec):
    return label(spec).replace(" ", "_")


def assert_equal(a, b):
    np.testing.assert_array_equal(a.out, b.out)
    assert a.ledger == b.ledger
    if a.rows is not None:
        for name in ("indptr", "rows", "counts"):
            np.testing.assert_array_equal(getattr(a.rows, name), getattr(b.rows, name))


@pytest.mark.parametrize("spec", every_method(20, tile=16), ids=ids)
def test_the_same_call_gives_the_same_result(spec):
    inputs = random_inputs(1, batch=2, n=60)
    assert_equal(decode(spec, *inputs, seed=5), decode(spec, *inputs, seed=5))


RANDOM = [sampled(name, 20, tile=16) for name in SAMPLED]
RANDOM += [method("bernoulli_qk", trials=4), sampled("s2anta_comb", 20, scores=TERNARY)]


@pytest.mark.parametrize("spec", RANDOM, ids=ids)
@pytest.mark.parametrize("other", [{"seed": 6}, {"seed": 5 + 2**40}, {"step": 1}, {"layer": 1}])
def test_seeds_steps_and_layers_draw_differently(spec, other):
    inputs = random_inputs(1, n=200)
    one = decode(spec, *inputs, seed=5)
    two = decode(spec, *inputs, **{"seed": 5, **other})
    # every head: equal outputs of two streams would need the same rows
    assert (np.abs(one.out - two.out).max(axis=-1) > 0).all()


@pytest.mark.parametrize("spec", RANDOM, ids=ids)
def test_equal_sequences_and_heads_draw_differently(spec):
    q, k, v = random_inputs(2, heads=1, kv_heads=1, n=200)
    q, k, v = (np.broadcast_to(a, (2, *a.shape[1:])) for a in (np.repeat(q, 4, axis=1), k, v))
    out = decode(spec, q, k, v).out.reshape(8, -1)
    assert len(np.unique(out, axis=0)) == 8


@pytest.mark.parametrize("name", SAMPLED)
def test_shared_offsets_give_equal_heads_of_a_group_equal_rows_and_other_groups_other_rows(name):
    q, k, v = random_inputs(3, heads=1, kv_heads=1, n=200)
    q, k, v = np.repeat(q, 6, axis=1), np.repeat(k, 2, axis=2), np.repeat(v, 2, axis=2)
    got = decode(sampled(name, 20, tile=16, offsets="shared"), q, k, v)
    rows = [tuple(got.rows.of(0, head)[0]) for head in range(6)]
    assert len(set(rows[:3])) == 1
    assert len(set(rows[3:])) == 1
    assert rows[0] != rows[3]
    assert got.unique_rows.tolist() == [[len(rows[0]), len(rows[3])]]


@pytest.mark.parametrize("spec", every_method(20, tile=16), ids=ids)
def test_the_first_sequence_does_not_depend_on_its_batch(spec):
    q, k, v = random_inputs(4, batch=3, n=60)
    lens = np.array([47, 60, 0])
    alone = decode(spec, q[:1], k[:1], v[:1], seq_lens=lens[:1], seed=7)
    together = decode(spec, q, k, v, seq_lens=lens, seed=7)
    np.testing.assert_array_equal(alone.out[0], together.out[0])
    np.testing.assert_array_equal(alone.unique_rows[0], together.unique_rows[0])
    for head in range(4 if alone.rows else 0):
        for mine, other in zip(alone.rows.of(0, head), together.rows.of(0, head), strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("spec", every_method(20, tile=16), ids=ids)
def test_a_later_sequence_depends_on_its_row_and_not_on_the_others(spec):
    q, k, v = random_inputs(4, batch=3, n=60)
    one = decode(spec, q, k, v, seq_lens=np.array([60, 60, 31]), seed=7)
    q, k, v = (array.copy() for array in (q, k, v))
    q[:2], k[:2], v[:2] = 1.0, 2.0, 3.0
    two = decode(spec, q, k, v, seq_lens=np.array([0, 5, 31]), seed=7)
    np.testing.assert_array_equal(one.out[2], two.out[2])


@pytest.mark.parametrize("spec", every_method(20, tile=16)[:6], ids=ids)
def test_padding_may_hold_anything(spec):
    q, k, v = random_inputs(5, n=60)
    lens = np.array([33])
    clean = decode(spec, q, k[:, :33], v[:, :33])
    k, v = k.copy(), v.copy()
    k[:, 33:], v[:, 33:] = np.nan, np.inf
    assert_equal(clean, decode(spec, q, k, v, seq_lens=lens))


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_thread_pools_of_any_size_give_the_same_results(workers):
    inputs = random_inputs(6, batch=2, n=300)
    calls = [(spec, seed) for spec in RANDOM for seed in range(3)]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(decode, spec, *inputs, seed=seed) for spec, seed in calls]
        results = [future.result() for future in futures]
    for (spec, seed), result in zip(calls, results, strict=True):
        assert_equal(result, decode(spec, *inputs, seed=seed))
