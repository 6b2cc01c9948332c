import math
import subprocess
import sys
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit, prange

from santa_sim.rng import DRAWS, TERNARY, UNIFORM_BITS, philox4x32, stream_key, uniform

# Random123's published known answers for philox4x32, ten rounds
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[np.uint32]:
    return [np.uint32(int(word, 16)) for word in text.split()]


def philox_by_the_paper(counter: list[int], key: list[int]) -> list[int]:
    """Ten rounds in Python's own integers, from the definition in Salmon et al., SC'11."""
    c, k, mask = list(map(int, counter)), list(map(int, key)), 2**32 - 1
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


@njit
def many(key, purpose, tile, head, out):
    for draw in range(out.size):
        out[draw] = uniform(key, purpose, tile, head, draw)


@njit(parallel=True)
def many_in_parallel(key, purpose, tile, head, out):
    for draw in prange(out.size):
        out[draw] = uniform(key, purpose, tile, head, draw)


def uniforms(n=64, *, seed=1, step=2, layer=3, batch=4, purpose=DRAWS, tile=5, head=6):
    out = np.empty(n)
    many(stream_key(seed, step, layer, batch), purpose, tile, head, out)
    return out


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(counter, key, answer):
    assert list(philox4x32(*words(counter), *words(key))) == words(answer)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=6, max_size=6))
def test_philox_follows_the_definition(numbers):
    got = philox4x32(*map(np.uint32, numbers))
    assert list(map(int, got)) == philox_by_the_paper(numbers[:4], numbers[4:])


@given(
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**20 - 1),
    st.integers(0, 2**12 - 1),
    st.integers(0, 2**16 - 1),
    st.sampled_from([DRAWS, TERNARY]),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**30 - 1),
)
def test_uniform_follows_the_documented_counter_layout(
    seed, step, layer, batch, purpose, tile, head, draw
):
    counter = [purpose << 28 | draw // 4, tile, batch << 16 | head, step << 12 | layer]
    word = philox_by_the_paper(counter, [seed & 0xFFFFFFFF, seed >> 32])[draw % 4]
    got = uniform(stream_key(seed, step, layer, batch), purpose, tile, head, draw)
    assert got == (word >> 8) / 2**UNIFORM_BITS


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 0}, {"seed": 1 + 2**32}, {"step": 3}, {"layer": 4}, {"batch": 5},
        {"purpose": TERNARY}, {"tile": 6}, {"head": 7},
        # neighbours across the seams of the packed words
        {"step": 0, "layer": 3 + 2 * 2**10}, {"batch": 0, "head": 6 + 4 * 2**8},
    ],
)  # fmt: skip
def test_changing_what_a_draw_is_for_changes_every_draw(other):
    assert not (uniforms() == uniforms(**other)).any()


def test_streams_of_layers_steps_heads_and_tiles_share_no_draw_order():
    streams = {
        tuple(uniforms(4, layer=layer, step=step, batch=batch, head=head, tile=tile))
        for layer in range(4)
        for step in range(4)
        for batch in range(4)
        for head in range(4)
        for tile in range(4)
    }
    assert len(streams) == 4**5


def test_draws_are_the_same_in_any_order_and_at_any_thread_count():
    key = stream_key(7, 0, 0, 0)
    serial, parallel = np.empty(4096), np.empty(4096)
    many(key, DRAWS, 0, 0, serial)
    many_in_parallel(key, DRAWS, 0, 0, parallel)
    np.testing.assert_array_equal(serial, parallel)
    alone = [uniform(key, DRAWS, 0, 0, draw) for draw in (4095, 0, 17)]
    assert alone == [serial[4095], serial[0], serial[17]]


def test_draws_are_the_same_in_another_process():
    code = (
        "from santa_sim.rng import *\n"
        "print([uniform(stream_key(1, 2, 3, 4), DRAWS, 5, 6, d).hex() for d in range(4)])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout.strip() == str([float(u).hex() for u in uniforms(4)]), printed.stderr


@pytest.mark.parametrize("bins", [16, 256])
def test_uniforms_are_uniform(bins):
    # one fixed seed; a sound generator fails with probability 1e-6 over the choice of that seed
    n, false_alarm = 1 << 20, 1e-6
    values = uniforms(n)
    assert values.min() >= 0.0
    assert values.max() <= 1 - 2.0**-UNIFORM_BITS
    expected = n / bins
    seen = np.bincount((values * bins).astype(np.int64), minlength=bins)
    chi2 = float(((seen - expected) ** 2 / expected).sum())
    # Wilson-Hilferty: (chi2/k)^(1/3) is close to normal
    k, z = bins - 1, NormalDist().inv_cdf(1 - false_alarm)
    assert chi2 < k * (1 - 2 / (9 * k) + z * math.sqrt(2 / (9 * k))) ** 3
    assert chi2 > k * (1 - 2 / (9 * k) - z * math.sqrt(2 / (9 * k))) ** 3


def test_neighbouring_streams_are_uncorrelated():
    n = 1 << 16
    # under independence n^(1/2) r is standard normal: 5 sigma, two-sided, is 6e-7 per pair
    base = uniforms(n) - 0.5
    for other in ({"tile": 6}, {"head": 7}, {"layer": 4}, {"step": 3}, {"batch": 5}, {"seed": 2}):
        r = float(np.mean(base * (uniforms(n, **other) - 0.5))) * 12
        assert abs(r) * math.sqrt(n) < 5


@pytest.mark.parametrize(
    ("name", "bits"), [("seed", 64), ("step", 20), ("layer", 12), ("batch", 16)]
)
def test_key_parts_out_of_range_are_refused(name, bits):
    parts = {"seed": 0, "step": 0, "layer": 0, "batch": 0}
    stream_key(**{**parts, name: 2**bits - 1})
    for value in (-1, 2**bits):
        with pytest.raises(ValueError, match=rf"{name} must be within 0..2\^{bits}-1, got {value}"):
            stream_key(**{**parts, name: value})
    with pytest.raises(TypeError):
        stream_key(**{**parts, name: 1.5})


def test_key_parts_may_be_numpy_integers():
    narrow = stream_key(np.int32(5), np.int16(300), np.int8(7), np.uint8(200))
    np.testing.assert_array_equal(narrow, stream_key(5, 300, 7, 200))
    assert narrow.dtype == np.uint32
