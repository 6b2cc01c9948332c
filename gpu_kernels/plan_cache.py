"""Launch configurations that a search found, kept in a file; the rule serves where there is none.

    plans = PlanCache(Path("plans.json"))
    out = s2anta_flash_decode(q, k, v, samples=2048, launch=plans.get(
        plan_key("s2anta_flash", q, k, samples=2048, tile=64), batch=len(q)))

Nothing is ever timed on a caller's tensors: `gpu_kernels.plan_search` fills the file beforehand.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu_kernels.page_table import PageTable
from gpu_kernels.requirement import require
from gpu_kernels.split_plan import LaunchPlan, head_blocks

if TYPE_CHECKING:
    import torch

FORMAT = 1
KERNELS = ("dense", "s2anta_flash", "s2anta_comb", "s2anta_prop", "bernoulli_qk",
           "bernoulli_qk_flash")


@dataclass(frozen=True)
class PlanKey:
    """What a configuration was tuned for: kernel, part, compiler and shapes, not the batch.

    One plan serves every batch, so that a sequence keeps its bits alone and in any batch.
    samples, tile: 0 where the kernel has none; page_size: 0 without pages.
    """

    kernel: str
    device: str
    compiler: str
    num_qo_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: str
    context: int
    page_size: int
    samples: int
    tile: int

    @property
    def programs_per_split(self) -> int:
        """Programs that read one stretch of one sequence: KV heads × blocks of heads."""
        return self.num_kv_heads * head_blocks(self.num_qo_heads // self.num_kv_heads)[1]

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in asdict(self).items())


def plan_key(
    kernel: str,
    q: torch.Tensor,
    k: torch.Tensor,
    *,
    kv_layout: str = "NHD",
    pages: PageTable | None = None,
    samples: int = 0,
    tile: int = 0,
) -> PlanKey:
    """Return the key of a call: arguments as the kernel's own, which checks them."""
    import torch
    import triton

    require(kernel in KERNELS, "kernel", f"one of {', '.join(KERNELS)}", repr(kernel))
    device = "interpreter"
    if q.device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(q.device)
        device = f"{torch.cuda.get_device_name(q.device).replace(' ', '_')}_sm{major}{minor}"
    feature_major = kernel.startswith("bernoulli_qk")
    kv_heads, n = k.shape[2:0:-1] if kv_layout == "NHD" else k.shape[1:3]
    if feature_major:
        kv_heads, n = k.shape[1], k.shape[3]
    return PlanKey(
        kernel, device, f"triton_{triton.__version__}", q.shape[1], kv_heads, q.shape[2],
        str(k.dtype).removeprefix("torch."), n if pages is None else pages.max_seq_len,
        0 if pages is None else n, samples, tile,
    )


class PlanCache:
    """Plans by key, in one JSON file that several processes may share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: PlanKey, batch: int) -> LaunchPlan | None:
        """Return the plan for a key, fitted to the batch, or None: then the kernel's rule decides.

        Splits stay what they are; how many programs share them follows the batch, which changes
        no bit. Raises `ValueError` if the file is no plan cache.
        """
        found = self._read().get(str(key))
        if found is None:
            return None
        programs = None
        if found["grid"] is not None:
            share = found["grid"] // (key.programs_per_split * batch)
            programs = max(1, min(found["splits"], share))
        return LaunchPlan(found["block_n"], found["num_warps"], found["num_stages"],
                          found["splits"], programs)

    def put(self, key: PlanKey, plan: LaunchPlan, batch: int, time_us: float) -> None:
        """Keep a plan tuned at one batch; the file is replaced at once, never half written."""
        shared = plan.programs is not None
        grid = plan.grid_programs * key.programs_per_split * batch if shared else None
        plans = self._read() | {str(key): {
            "block_n": plan.block_n, "num_warps": plan.num_warps, "num_stages": plan.num_stages,
            "splits": plan.splits, "grid": grid, "time_us": round(time_us, 3),
        }}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, prefix=self.path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"format": FORMAT, "plans": dict(sorted(plans.items()))}, file, indent=1)
        Path(temporary).replace(self.path)

    def _read(self) -> dict[str, dict[str, Any]]:
        if not self.path.exists():
            return {}
        try:
            held = json.loads(self.path.read_text(encoding="utf-8"))
        except ValueError:
            held = None
        valid = isinstance(held, dict) and held.get("format") == FORMAT
        require(valid, str(self.path), f"a plan cache of format {FORMAT} (delete it to start anew)",
                "something else")
        plans: dict[str, dict[str, Any]] = held["plans"]
        return plans
