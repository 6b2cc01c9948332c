"""What a study varies at the event level, as a checked model."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from santa_sim.event.layout import KvLayout

Rate = Annotated[float, Field(strict=True, ge=1, le=1e18)]


class EventRun(BaseModel):
    """One way of running every point in time, on every accelerator of the study.

    kv_layout: where rows lie: `nhd` [B, n, KVH, d], `hnd` [B, KVH, n, d], `tile_blocked` [B, T,
    KVH, tile, d], `row_aligned` (each row of a head in one DRAM row).
    depth: tiles in each buffer and transfers in flight per engine; by default the accelerator's
    own buffers and engines. rates: unit of the accelerator -> op/s instead of its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    kv_layout: KvLayout = KvLayout.HND
    depth: Annotated[int, Field(strict=True, ge=1, le=1024)] | None = None
    rates: dict[str, Rate] = Field(default_factory=dict)


def label(run: EventRun) -> str:
    """Return a short text such as `hnd, depth 2, sampler 4e+09 op/s`."""
    parts = [str(run.kv_layout)]
    if run.depth is not None:
        parts.append(f"depth {run.depth}")
    parts += [f"{unit} {rate:.4g} op/s" for unit, rate in run.rates.items()]
    return ", ".join(parts)
