"""Decode steps, methods and machines for the tests of the event level."""

from functools import cache

import numpy as np

from hw_models.catalogue import load_accelerator
from santa_sim.data.attention import AttentionStep
from santa_sim.data.capture import load_capture
from santa_sim.event import KvLayout, Sizes, StepShape, memory_of, plan, run
from santa_sim.methods import decode, method

MACHINES = ("edge_stages_bf16_7nm_lpddr5", "edge_stages_bf16_7nm_gddr6",
            "edge_stages_bf16_7nm_hbm2e")
METHODS = (
    method("dense"), method("dense", tile=100), method("s2anta_flash", samples=96, tile=128),
    method("s2anta_comb", samples=64), method("s2anta_prop", samples=50),
    method("santa_systematic", samples=64), method("santa_stratified", samples=48),
    method("santa_iid", samples=64), method("s2anta_comb", samples=64, offsets="shared"),
    method("bernoulli_qk", trials=4, key_layout="token_major"),
    method("s2anta_comb", samples=32, scores={
        "name": "bernoulli_qk", "trials": 2, "scale": "power_of_two",
        "key_layout": "token_major"}),
)


def made_up(batch=2, lens=(1000, 333), kv_heads=2, group=3, d=64, seed=0):
    """A step with two sequences of different length, peaked so that rows repeat."""
    rng = np.random.default_rng(seed)
    n = max(lens)
    q = 3 * rng.standard_normal((batch, kv_heads * group, d))
    k, v = rng.standard_normal((2, batch, n, kv_heads, d)).astype(np.float16)
    return AttentionStep(
        q.astype(np.float16).astype(np.float32), k, v, np.array(lens), d**-0.5, 0, 0, "made up",
        "test",
    )


@cache
def captured(trace="t3"):
    """The first decode step of a trace of the packaged capture (t3: 2,045 rows)."""
    return load_capture("smollm2-135m").steps(traces=[trace], steps=[0])[0]


@cache
def machine(name=MACHINES[0]):
    accelerator = load_accelerator(name)
    return accelerator, memory_of(accelerator)


def planned(spec, step, name=MACHINES[0], layout=KvLayout.HND, seed=0):
    """Decode, then plan; returns (decoded, plan)."""
    accelerator, memory = machine(name)
    decoded = decode(
        spec, step.q, step.k, step.v, seq_lens=step.seq_lens, sm_scale=step.sm_scale, seed=seed,
    )
    shape = StepShape.of(step)
    return decoded, plan(spec, shape, decoded.rows, decoded.ledger, accelerator, layout, memory)


def ran(spec, step, name=MACHINES[0], layout=KvLayout.HND, seed=0, sizes=None):
    accelerator, memory = machine(name)
    return run(planned(spec, step, name, layout, seed)[1], accelerator, memory, sizes or Sizes())
