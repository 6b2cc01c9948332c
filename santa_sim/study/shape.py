"""What the decode steps of a dataset look like, known before they are made."""

from __future__ import annotations

from dataclasses import dataclass

from hw_models.ledger import Dtype


@dataclass(frozen=True)
class Shape:
    """The longest decode step of a dataset, heads that are only stood for included.

    rows: Σ seq_lens over the batch; simulated_kv_heads: KV heads that are held and run;
    steps: decode steps over which a point averages.
    """

    batch: int
    num_qo_heads: int
    num_kv_heads: int
    simulated_kv_heads: int
    head_dim: int
    dtype: Dtype
    rows: int
    steps: int

    @property
    def kv_cache_bytes(self) -> int:
        """Bytes of K and V in one layer of the whole model."""
        return 2 * self.rows * self.num_kv_heads * self.head_dim * self.dtype.bytes

    @property
    def held_bytes(self) -> int:
        """Bytes of K and V that are in memory, for the heads that are simulated."""
        return self.kv_cache_bytes * self.simulated_kv_heads // self.num_kv_heads

    @property
    def simulated_qo_heads(self) -> int:
        """Query heads that are run."""
        return self.num_qo_heads * self.simulated_kv_heads // self.num_kv_heads
