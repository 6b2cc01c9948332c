import numpy as np
import pytest

from hw_models.dram import load_dram
from hw_models.dram.copies import side_by_side
from santa_sim.event.layout import CacheMap, CacheShape, KvLayout

SHAPE = CacheShape(batch=2, rows=150, kv_heads=3, row_bytes=128, tile=64)
MEMORIES = {
    "lpddr5": side_by_side(load_dram("lpddr5_6400"), 2), "hbm2e": load_dram("hbm2e_3200"),
    "ddr5": load_dram("ddr5_4800"),
}
each_layout = pytest.mark.parametrize("layout", KvLayout)
each_memory = pytest.mark.parametrize("memory", MEMORIES.values(), ids=MEMORIES)


def bursts_of(places, what, batch, head, rows, memory):
    """Every burst that a set of rows touches, row by row."""
    start, size = getattr(places, what)(batch, head, np.array(rows))
    burst = memory.organisation.burst_bytes
    return np.concatenate([np.arange(s // burst, -(-(s + size) // burst)) for s in start])


@each_layout
@each_memory
def test_every_row_has_bytes_of_its_own(layout, memory):
    places = CacheMap(layout, SHAPE, memory, 384)
    found = [
        bursts_of(places, what, b, h, np.arange(SHAPE.rows), memory)
        for what in ("keys", "values") for b in range(SHAPE.batch) for h in range(SHAPE.kv_heads)
    ]
    burst = memory.organisation.burst_bytes
    for vector in (places.query, places.output):
        for b in range(SHAPE.batch):
            for h in range(SHAPE.kv_heads):
                start = int(vector(b, h)[0])
                found.append(np.arange(start // burst, (start + 384) // burst))
    every = np.concatenate(found)
    assert len(np.unique(every)) == len(every)
    assert every.min() >= 0
    assert every.max() * burst < memory.organisation.capacity_bytes
    rows = 2 * SHAPE.batch * SHAPE.kv_heads * SHAPE.rows
    assert len(every) * burst == rows * 128 + 2 * SHAPE.batch * SHAPE.kv_heads * 384


@each_memory
def test_places_are_those_of_the_definitions(memory):
    b, h, i = 1, 2, 77
    def at(layout):
        return int(CacheMap(layout, SHAPE, memory, 384).keys(b, h, np.array([i]))[0][0])
    assert at(KvLayout.NHD) == np.ravel_multi_index((b, i, h), (2, 150, 3)) * 128
    assert at(KvLayout.HND) == np.ravel_multi_index((b, h, i), (2, 3, 150)) * 128
    assert at(KvLayout.TILE_BLOCKED) == np.ravel_multi_index((b, 1, h, 13), (2, 3, 3, 64)) * 128


def decoded(address, memory):
    """Field values of addresses, from the bit ranges."""
    values = {}
    for field in ("channel", "bank_group", "bank", "row", "column"):
        value, at = np.zeros_like(address), 0
        for low, high in getattr(memory.mapping, field):
            width = high - low + 1
            value |= (address >> low & (1 << width) - 1) << at
            at += width
        values[field] = value
    return values


@each_memory
def test_a_row_aligned_token_lies_in_one_row_of_one_bank_and_tokens_alternate_channels(memory):
    places = CacheMap(KvLayout.ROW_ALIGNED, SHAPE, memory, 384)
    start, size = places.values(1, 1, np.arange(SHAPE.rows))
    bursts = 128 // memory.organisation.burst_bytes
    assert size == memory.organisation.burst_bytes
    fields = {k: v.reshape(-1, bursts) for k, v in decoded(start, memory).items()}
    for field in ("channel", "bank_group", "bank", "row"):
        assert (fields[field] == fields[field][:, :1]).all()
    assert (np.diff(fields["column"], axis=1) == 1).all()
    channel = fields["channel"][:, 0]
    assert ((np.diff(channel) - 1) % memory.organisation.channels == 0).all()


def test_taking_an_address_apart_and_putting_it_together_gives_the_address():
    memory = MEMORIES["hbm2e"]
    address = np.random.default_rng(0).integers(0, memory.organisation.capacity_bytes // 32, 500)
    address = address * 32
    assert np.array_equal(memory.mapping.addresses(**decoded(address, memory)), address)


def test_a_cache_that_does_not_fit_is_refused():
    memory = MEMORIES["lpddr5"]
    huge = CacheShape(64, 1 << 20, 8, 256, 64)
    with pytest.raises(ValueError, match="and the memory has"):
        CacheMap(KvLayout.HND, huge, memory, 1024)
    odd = CacheShape(1, 100, 1, 160, 64)
    with pytest.raises(ValueError, match="a row of 160 bytes does not fit a memory row of 2048"):
        CacheMap(KvLayout.ROW_ALIGNED, odd, memory, 160)
    CacheMap(KvLayout.NHD, odd, memory, 160)
