import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import families  # noqa: E402
from decode_cases import lengths, make  # noqa: E402

from gpu_kernels import custom_ops  # noqa: E402

pytestmark = pytest.mark.gpu
CONTEXT = 40


def case(device, name, **shape):
    """Positional and named arguments of an operator, and the function's own arguments."""
    q, k, v = make(device, context=CONTEXT, **shape)
    keys = families.keys_for(name, k)
    named = families.own_arguments(name)
    state = torch.tensor([named.pop("seed", 0), 2], dtype=torch.int64, device=device)
    plain = named | ({"seed": state, "layer": 1} if name in families.RANDOM else {})
    op = named | ({"state": state, "layer": 1} if name in families.RANDOM else {})
    return (q, keys, v), op, plain


def operator(name):
    return getattr(torch.ops.santa, f"{name}_decode").default


@pytest.mark.parametrize("name", families.DECODE)
def test_an_operator_returns_what_its_function_does(device, name):
    tensors, op, plain = case(device, name, batch=2)
    lens = lengths(device, CONTEXT, 7)
    out, lse = operator(name)(*tensors, seq_lens=lens, **op)
    wanted = families.DECODE[name](*tensors, seq_lens=lens, return_lse=True, **plain)
    assert torch.equal(out, wanted[0])
    assert torch.equal(lse, wanted[1])


@pytest.mark.parametrize("name", families.DECODE)
def test_schema_and_fake_implementation_are_true(device, name):
    tensors, op, _ = case(device, name, heads=2, kv_heads=1, dtype=torch.float16)
    torch.library.opcheck(operator(name), tensors, op, test_utils=(
        "test_schema", "test_autograd_registration", "test_faketensor"))


def test_a_compiled_step_has_no_graph_break_and_fresh_draws_each_step(device):
    (q, k, v), op, _ = case(device, "s2anta_comb")
    weight = torch.eye(64, device=device)

    def step(q, k, v, state):
        out, _ = torch.ops.santa.s2anta_comb_decode(
            q @ weight, k, v, state, 1, families.SAMPLES, families.TILE)
        return out * 2

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    state = op["state"]
    first = compiled(q, k, v, state)
    assert torch.equal(first, step(q, k, v, state))
    state[1] += 1
    second = compiled(q, k, v, state)
    assert torch.equal(second, step(q, k, v, state))
    assert not torch.equal(first, second)


def test_pages_come_as_their_parts(device):
    q, k, v = make(device, batch=2, context=32)
    pages = [c.reshape(4, 16, 2, 64) for c in (k, v)]
    indptr, indices, last = (torch.tensor(a, dtype=torch.int32, device=device)
                             for a in ([0, 2, 4], [0, 1, 2, 3], [16, 5]))
    out, lse = torch.ops.santa.dense_decode(
        q, *pages, kv_indptr=indptr, kv_indices=indices, last_page_len=last, max_seq_len=32)
    plain = torch.ops.santa.dense_decode(q, k, v, lengths(device, 32, 21))
    assert torch.equal(out, plain[0])
    assert torch.equal(lse, plain[1])
    with pytest.raises(ValueError, match="kv_indices: must be given with the other parts"):
        torch.ops.santa.dense_decode(q, *pages, kv_indptr=indptr, last_page_len=last)


def test_every_family_has_an_operator():
    assert custom_ops.dense._opoverload is operator("dense")
    for name in families.DECODE:
        assert operator(name).namespace == "santa"
