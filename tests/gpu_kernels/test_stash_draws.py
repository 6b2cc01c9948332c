import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

from gpu_kernels.stash_draws import first_reached, tile_of_draw  # noqa: E402

pytestmark = pytest.mark.gpu
DRAWS = 128


@triton.jit
def first_reached_probe(mass_ptr, level_ptr, index_ptr, ahead_ptr, DRAWS: tl.constexpr,
                        COUNT: tl.constexpr):
    draw, entry = tl.arange(0, DRAWS), tl.arange(0, COUNT)
    mass = tl.load(mass_ptr + draw[:, None] * COUNT + entry[None, :])
    index, ahead = first_reached(mass, tl.load(level_ptr + draw), COUNT)
    tl.store(index_ptr + draw, index)
    tl.store(ahead_ptr + draw, ahead)


def reached(device, mass, level, warps):
    index = torch.empty(DRAWS, dtype=torch.int32, device=device)
    ahead = torch.empty(DRAWS, device=device)
    first_reached_probe[(1,)](mass.to(device), level.to(device), index, ahead, DRAWS=DRAWS,
                              COUNT=mass.shape[1], num_warps=warps)
    return index.cpu().numpy(), ahead.cpu().numpy()


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [2, 4, 16])
def test_search_agrees_with_a_cpu_scan_at_every_warp_count(device, warps, count):
    # whole numbers: sums are exact in any order, so the scans must agree exactly
    generator = np.random.default_rng(count)
    mass = generator.integers(0, 4, (DRAWS, count)) * generator.integers(0, 2, (DRAWS, count))
    mass[:, generator.integers(0, count)] += 1
    running = mass.cumsum(1)
    level = np.maximum(generator.random(DRAWS) * running[:, -1], 0.01)
    index, ahead = reached(device, torch.tensor(mass, dtype=torch.float32),
                           torch.tensor(level, dtype=torch.float32), warps)
    wanted = (running < level[:, None]).sum(1)
    assert index.tolist() == wanted.tolist()
    assert ahead.tolist() == np.where(wanted > 0, running[range(DRAWS), wanted - 1], 0).tolist()
    assert bool((mass[range(DRAWS), index] > 0).all())


@pytest.mark.parametrize("warps", [1, 4])
def test_a_level_past_the_end_stops_at_the_last_entry_with_mass(device, warps):
    mass = torch.zeros(DRAWS, 16)
    last = torch.arange(DRAWS) % 16
    mass[torch.arange(DRAWS), last] = 0.1
    mass[torch.arange(DRAWS), last // 2] = 0.1
    level = torch.full((DRAWS,), 0.3)
    index, _ = reached(device, mass, level, warps)
    assert index.tolist() == last.tolist()


@triton.jit
def tile_probe(start_ptr, tile_ptr, tiles, draws, SPANS: tl.constexpr, DRAWS: tl.constexpr):
    draw = tl.arange(0, DRAWS)
    drawn = draw < draws
    tl.store(tile_ptr + draw, tile_of_draw(start_ptr, draw, drawn, tiles, SPANS, DRAWS))


@pytest.mark.parametrize("tiles", [1, 15, 16, 17, 33, 700])
def test_a_draw_finds_the_tile_whose_budget_holds_it(device, tiles):
    budgets = np.random.default_rng(tiles).multinomial(100, np.full(tiles, 1 / tiles))
    starts = np.concatenate([[0], budgets.cumsum()]).astype(np.int32)
    found = torch.empty(DRAWS, dtype=torch.int32, device=device)
    tile_probe[(1,)](torch.from_numpy(starts).to(device), found, tiles, 100, SPANS=4, DRAWS=DRAWS,
                     num_warps=2)
    assert found.tolist() == np.repeat(np.arange(tiles), budgets).tolist() + [0] * (DRAWS - 100)
