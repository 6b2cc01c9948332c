import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import families  # noqa: E402
from decode_cases import lengths, make  # noqa: E402

from gpu_kernels.workspace import Workspace  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="graphs are captured on a GPU"),
]
CONTEXT = 3000


@pytest.mark.parametrize("name", families.DECODE)
def test_a_replayed_graph_draws_afresh_and_repeats_for_the_same_seed_and_step(device, name):
    q, k, v = make(device, batch=2, heads=8, kv_heads=2, dim=128, context=CONTEXT,
                   dtype=torch.bfloat16)
    keys, lens = families.keys_for(name, k), lengths(device, CONTEXT, 1000)
    state = torch.tensor([5, 0], dtype=torch.int64, device=device)
    out, lse = torch.empty_like(q), torch.empty(2, 8, device=device)
    arguments = families.own_arguments(name) | {
        "seq_lens": lens, "out": out, "lse": lse, "workspace": Workspace()
    }
    if name in families.RANDOM:
        arguments["seed"] = state

    def call():
        families.DECODE[name](q, keys, v, **arguments)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        call()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()

    def replay(step):
        state[1] = step
        graph.replay()
        torch.cuda.synchronize()
        return out.clone(), lse.clone()

    first, again, other = replay(0), replay(0), replay(1)
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert torch.equal(first[0], other[0]) == (name == "dense")
    call()
    assert torch.equal(out, other[0])
    lens.fill_(17)
    shorter = replay(1)
    call()
    assert torch.equal(out, shorter[0])
    assert not torch.equal(shorter[0], other[0])
