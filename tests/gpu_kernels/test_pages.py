import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import families  # noqa: E402
from decode_cases import lengths, make  # noqa: E402

from gpu_kernels.dense.reference import dense_decode as exact_decode  # noqa: E402
from gpu_kernels.page_table import PageTable, sequence_lengths  # noqa: E402

pytestmark = pytest.mark.gpu
LENS = (100, 0, 33)


def as_pages(caches, lens, page_size, layout):
    """Cut caches [B, n, KVH, d] into shuffled pages; what no sequence uses holds NaN."""
    owned = [-(-n // page_size) for n in lens]
    order = torch.randperm(sum(owned) + 3, generator=torch.Generator().manual_seed(page_size))
    indptr = torch.tensor([0, *torch.tensor(owned).cumsum(0).tolist()], dtype=torch.int32)
    paged = []
    for cache in caches:
        whole = torch.full((len(order), page_size, *cache.shape[2:]), float("nan"),
                           dtype=cache.dtype, device=cache.device)
        for b, n in enumerate(lens):
            for i in range(owned[b]):
                rows = cache[b, i * page_size : min(n, (i + 1) * page_size)]
                whole[order[int(indptr[b]) + i], : len(rows)] = rows
        paged.append(whole if layout == "NHD" else whole.transpose(1, 2).contiguous())
    last = torch.tensor([n - (pages - 1) * page_size if n else 0
                         for n, pages in zip(lens, owned, strict=True)], dtype=torch.int32)
    device = caches[0].device
    indices = order[: sum(owned)].to(torch.int32)
    table = PageTable(indptr.to(device), indices.to(device), last.to(device), max(lens))
    return *paged, table


@pytest.mark.parametrize("page_size", [1, 3, 16, 64])
@pytest.mark.parametrize("name", families.ROW_MAJOR)
def test_pages_change_no_bit(device, name, page_size):
    layout = "HND" if page_size == 16 else "NHD"
    q, k, v = make(device, batch=3, heads=4, kv_heads=2, context=100, dtype=torch.float16)
    plain = families.decode(name, q, k, v, context=100, seq_lens=lengths(device, *LENS))
    k_pages, v_pages, table = as_pages((k, v), LENS, page_size, layout)
    paged = families.decode(name, q, k_pages, v_pages, context=100, pages=table,
                            kv_layout=layout)
    assert paged.equals(plain)
    assert bool(paged.out.isfinite().all())


def test_lengths_and_reference_read_the_table_as_flashinfer_does(device):
    q, k, v = make(device, batch=3, heads=2, kv_heads=1, context=100)
    k_pages, v_pages, table = as_pages((k, v), LENS, 16, "NHD")
    assert sequence_lengths(table, 16).tolist() == list(LENS)
    assert table.kv_indptr.tolist() == [0, 7, 7, 10]
    assert table.last_page_len.tolist() == [4, 0, 1]
    exact = exact_decode(q, k, v, seq_lens=lengths(device, *LENS))
    paged = exact_decode(q, k_pages, v_pages, pages=table)
    assert torch.equal(exact[0], paged[0])
    assert torch.equal(exact[1], paged[1])


def test_pages_may_be_shared_by_sequences(device):
    q, k, v = make(device, batch=1, heads=2, kv_heads=1, context=48)
    pages = [c.view(3, 16, 1, 64) for c in (k, v)]
    table = PageTable(
        torch.tensor([0, 3, 5], dtype=torch.int32, device=device),
        torch.tensor([0, 1, 2, 0, 2], dtype=torch.int32, device=device),
        torch.tensor([16, 7], dtype=torch.int32, device=device), 48,
    )
    two = q.expand(2, -1, -1).contiguous()
    result = families.decode("dense", two, *pages, context=48, pages=table)
    mixed = [torch.cat([c[:, :16], c[:, 32:39]], 1) for c in (k, v)]
    for b, caches in enumerate(((k, v), mixed)):
        exact, lse = exact_decode(q, *caches)
        torch.testing.assert_close(result.out[b].double(), exact[0], rtol=0, atol=1e-5)
        torch.testing.assert_close(result.lse[b].double(), lse[0], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"kv_indptr": torch.tensor([0, 2], dtype=torch.int64)}, "kv_indptr: must be int32"),
     ({"kv_indices": torch.tensor([0.0, 1.0])}, "kv_indices: must be int32"),
     ({"last_page_len": torch.tensor([1, 1], dtype=torch.int32)},
      r"last_page_len: must be of shape \(1,\), got \(2,\)"),
     ({"kv_indptr": torch.tensor([1, 2], dtype=torch.int32)}, "kv_indptr: must be rising from 0"),
     ({"kv_indptr": torch.tensor([0, 9], dtype=torch.int32)},
      "kv_indices: must be of at least kv_indptr's 9 pages, got 2"),
     ({"kv_indices": torch.tensor([0, 7], dtype=torch.int32)},
      r"kv_indices: must be within 0\.\.2, the pages that k and v hold, got 0\.\.7"),
     ({"kv_indices": torch.tensor([-1, 0], dtype=torch.int32)},
      r"kv_indices: must be within 0\.\.2, the pages that k and v hold, got -1\.\.0"),
     ({"last_page_len": torch.tensor([17], dtype=torch.int32)},
      r"last_page_len: must be within 1\.\.16, got \[17\]"),
     ({"max_seq_len": 20}, "max_seq_len: must be at least the longest sequence's 21 keys, got 20"),
     ({"max_seq_len": -1}, "max_seq_len: must be an integer of at least 0, got -1")],
)
def test_a_wrong_page_table_is_refused_with_its_field_named(change, said):
    q = torch.zeros(1, 2, 64)
    pages = torch.zeros(3, 16, 1, 64)
    right = {"kv_indptr": torch.tensor([0, 2], dtype=torch.int32),
             "kv_indices": torch.tensor([2, 0], dtype=torch.int32),
             "last_page_len": torch.tensor([5], dtype=torch.int32), "max_seq_len": 21}
    exact_decode(q, pages, pages, pages=PageTable(**right))
    with pytest.raises(ValueError, match=said):
        exact_decode(q, pages, pages, pages=PageTable(**(right | change)))


def test_page_sizes_and_lengths_given_twice_are_refused():
    q, pages = torch.zeros(1, 2, 64), torch.zeros(3, 65, 1, 64)
    table = PageTable(torch.tensor([0, 1], dtype=torch.int32), torch.tensor([0], dtype=torch.int32),
                      torch.tensor([5], dtype=torch.int32), 65)
    with pytest.raises(ValueError, match=r"k: must be of a page size in 1\.\.64, got 65"):
        exact_decode(q, pages, pages, pages=table)
    with pytest.raises(ValueError, match="seq_lens: must be left out with pages"):
        exact_decode(q, pages[:, :16], pages[:, :16], pages=table,
                     seq_lens=torch.tensor([5], dtype=torch.int32))
