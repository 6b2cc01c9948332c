"""The calls of one bench point, peers first, each with what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_kernels.bench import moved
from gpu_kernels.bench.config import BenchConfig, Kernel
from gpu_kernels.bench.inputs import Inputs, Shape
from gpu_kernels.bench.peers import PeerUnavailable, peer

if TYPE_CHECKING:
    import torch

STASH_BYTES = 2
"""Of one weight between two passes: float16, the default of every kernel that stashes."""


@dataclass(frozen=True)
class Candidate:
    """A call to time, and what it reads.

    moved_bytes: unique cache bytes plus workspace traffic. effective_samples: rows drawn per head;
    tile, trials: 0 where the kernel has none.
    """

    name: str
    call: Callable[[], torch.Tensor]
    moved_bytes: int
    samples: int
    effective_samples: int
    tile: int = 0
    offsets: str = "none"
    trials: int = 0


def candidates(
    config: BenchConfig, shape: Shape, inputs: Inputs, report: Callable[[str], None]
) -> Iterator[Candidate]:
    """Yield the peers that can run, then our kernels; report gets a line for each peer left out."""
    layout, n = config.geometry.kv_layout, shape.context
    whole = moved.whole_cache_bytes(shape, inputs.k.element_size())
    for name in config.peers:
        try:
            call = peer(name, inputs, layout)
        except PeerUnavailable as error:
            report(f"not measured at batch {shape.batch}, context {n}: {error}")
            continue
        yield Candidate(name, call, whole, n, n)
    for kernel in config.kernels:
        make = _ternary if kernel.name.startswith("bernoulli_qk") else _exact_scores
        yield make(kernel, shape, layout, inputs)


def _common(layout: str, inputs: Inputs) -> dict[str, Any]:
    import torch

    from gpu_kernels.workspace import Workspace

    common = {"kv_layout": layout, "workspace": Workspace(), "out": torch.empty_like(inputs.q)}
    if inputs.k_scale is not None:
        common |= {"k_scale": inputs.k_scale, "v_scale": inputs.v_scale}
    return common


def _sampling(kernel: Kernel, shape: Shape, inputs: Inputs) -> tuple[dict[str, Any], int]:
    """Return the arguments of a kernel that draws rows, and how many it draws per head."""
    import torch

    from gpu_kernels.s2anta_comb.plan import DEFAULT_TILE as COMB_TILE
    from gpu_kernels.s2anta_flash.budget import effective_samples, rows_per_head
    from gpu_kernels.s2anta_flash.plan import DEFAULT_TILE

    n = shape.context
    samples = max(1, n // int(kernel.keys_per_sample or 1))
    tile = kernel.tile or (COMB_TILE if kernel.name == "s2anta_comb" else DEFAULT_TILE)
    per_tile = kernel.name in ("s2anta_flash", "bernoulli_qk_flash")
    most = rows_per_head(samples, tile, n) if per_tile else samples
    drawn = effective_samples(samples, tile, n) if per_tile else samples
    rows = torch.empty(*inputs.q.shape[:2], most, dtype=torch.int32, device=inputs.q.device)
    return {"samples": samples, "tile": tile, "offsets": kernel.offsets, "rows": rows}, drawn


def _exact_scores(kernel: Kernel, shape: Shape, layout: str, inputs: Inputs) -> Candidate:
    import torch

    from gpu_kernels.dense.api import dense_decode
    from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
    from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
    from gpu_kernels.s2anta_prop.api import s2anta_prop_decode

    n, itemsize = shape.context, inputs.k.element_size()
    tensors, common = (inputs.q, inputs.k, inputs.v), _common(layout, inputs)
    if kernel.name == "dense":
        return Candidate("dense", lambda: dense_decode(*tensors, **common),
                         moved.whole_cache_bytes(shape, itemsize), n, n)
    decode: Callable[..., Any] = {
        "s2anta_flash": s2anta_flash_decode, "s2anta_comb": s2anta_comb_decode,
        "s2anta_prop": s2anta_prop_decode,
    }[kernel.name]
    sampling, drawn = _sampling(kernel, shape, inputs)
    common |= sampling | {"seed": _seed(torch, inputs)}
    decode(*tensors, **common)
    unique = moved.union_rows(common.pop("rows"), shape)
    stash = 0 if kernel.name == "s2anta_flash" else moved.stash_bytes(
        shape, drawn, common["tile"], STASH_BYTES)
    return Candidate(kernel.name, lambda: decode(*tensors, **common),
                     moved.cache_bytes(shape, unique, itemsize) + stash, common["samples"], drawn,
                     common["tile"], kernel.offsets)


def _ternary(kernel: Kernel, shape: Shape, layout: str, inputs: Inputs) -> Candidate:
    import torch

    from gpu_kernels.bernoulli_qk.api import bernoulli_qk_decode, bernoulli_qk_flash_decode
    from gpu_kernels.bernoulli_qk.inputs import features_read

    n, itemsize, trials = shape.context, inputs.k.element_size(), int(kernel.trials or 1)
    by_feature = inputs.k.permute(0, 2, 3, 1) if layout == "NHD" else inputs.k.transpose(2, 3)
    tensors = (inputs.q, by_feature.contiguous(), inputs.v)
    common = _common(layout, inputs) | {"trials": trials, "seed": _seed(torch, inputs)}
    common["digits"] = torch.empty(inputs.q.shape, dtype=torch.int32, device=inputs.q.device)
    sampled = kernel.name == "bernoulli_qk_flash"
    decode: Callable[..., Any] = bernoulli_qk_flash_decode if sampled else bernoulli_qk_decode
    unique, stash, drawn = shape.batch * shape.num_kv_heads * n, 0, n
    if sampled:
        sampling, drawn = _sampling(kernel, shape, inputs)
        common |= sampling
    decode(*tensors, **common)
    if sampled:
        unique = moved.union_rows(common.pop("rows"), shape)
        stash = moved.stash_bytes(shape, drawn, common["tile"], STASH_BYTES)
    features = int(features_read(common.pop("digits"), shape.num_kv_heads).sum())
    return Candidate(kernel.name, lambda: decode(*tensors, **common),
                     (features * n + unique * shape.head_dim) * itemsize + stash,
                     common.get("samples", n), drawn, common.get("tile", 0),
                     kernel.offsets if sampled else "none", trials)


def _seed(torch: Any, inputs: Inputs) -> torch.Tensor:
    found: torch.Tensor = torch.tensor([12345, 0], dtype=torch.int64, device=inputs.q.device)
    return found
