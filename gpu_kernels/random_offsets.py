"""Counter-based uniforms on the device: the draws of the models' generator, word for word.

Philox4x32-10 keyed by the 64-bit seed; counter = (purpose << 28 | draw // 4, tile,
batch << 16 | head, step << 12 | layer); u = (word[draw % 4] >> 8) · 2^-24.
Source: Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3".
"""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

from __future__ import annotations

from typing import TYPE_CHECKING

import triton
import triton.language as tl

from gpu_kernels.requirement import require

if TYPE_CHECKING:
    import torch

OFFSETS = ("own", "shared")
MAX_LAYER = 2**12
MAX_STEP = 2**20


@triton.jit
def uniform_offsets(seed, step_layer, batch, head, tile):
    """Return the first uniform in [0, 1) of purpose 0 (draws): float32 like `head` and `tile`.

    seed: the 64-bit key; step_layer: step << 12 | layer; head, tile: int32 of one shape.
    """
    who = (batch.to(tl.uint32) << 16) | head.to(tl.uint32)
    zero = who * 0
    word, _, _, _ = tl.philox(
        seed, zero, tile.to(tl.uint32) + zero, who, step_layer.to(tl.uint32) + zero
    )
    return (word >> 8).to(tl.float32) * (1.0 / 16777216.0)


@triton.jit
def step_and_layer(state_ptr, layer):
    """Return the counter's last word, step << 12 | layer, from (seed, step) in device memory."""
    return (tl.load(state_ptr + 1) << 12) | layer


def random_state(
    seed: int | torch.Tensor, step: int | None, layer: int, q: torch.Tensor
) -> torch.Tensor:
    """Return the int64 [2] device tensor (seed, step) that the kernels read.

    seed: 0..2^64-1, or such a tensor itself (then `step` must be None), which is how a CUDA graph
    gets fresh draws: write the tensor between replays. step: 0..2^20-1, default 0.
    layer: 0..2^12-1. Raises `ValueError` out of range.
    """
    import torch

    require(isinstance(layer, int) and 0 <= layer < MAX_LAYER, "layer",
            f"within 0..{MAX_LAYER - 1}", layer)
    if isinstance(seed, torch.Tensor):
        require(step is None, "step", "left out when seed is a (seed, step) tensor", step)
        require(seed.dtype == torch.int64 and tuple(seed.shape) == (2,), "seed",
                "an integer or an int64 tensor (seed, step)", f"{seed.dtype} {tuple(seed.shape)}")
        require(seed.device == q.device, "seed", f"on q's device {q.device}", seed.device)
        return seed
    number = 0 if step is None else step
    require(isinstance(seed, int) and 0 <= seed < 2**64, "seed", "within 0..2^64-1", seed)
    require(isinstance(number, int) and 0 <= number < MAX_STEP, "step",
            f"within 0..{MAX_STEP - 1}", number)
    signed = seed - 2**64 if seed >= 2**63 else seed
    return torch.tensor([signed, number], dtype=torch.int64, device=q.device)


def shares_offsets(offsets: str) -> bool:
    """Return whether the heads of a group share one offset; raises `ValueError` if misspelt."""
    require(offsets in OFFSETS, "offsets", f"one of {', '.join(OFFSETS)}", repr(offsets))
    return offsets == "shared"
