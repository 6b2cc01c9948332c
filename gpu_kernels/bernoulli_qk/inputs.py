"""What both forms of `bernoulli_qk` take: feature-major keys, trials, and the digits pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpu_kernels.bernoulli_qk.digits_kernel import digits_kernel
from gpu_kernels.launch import first_launch
from gpu_kernels.request import LAYOUTS, DecodeRequest, check_decode, check_output
from gpu_kernels.requirement import require
from gpu_kernels.split_plan import next_power_of_two

if TYPE_CHECKING:
    import torch

MAX_TRIALS = 256
"""Whole numbers up to 2^8 are exact in every format of the score product, bfloat16 included."""
SCALES = ("exact", "power_of_two")


@dataclass(frozen=True)
class FeatureMajorRequest:
    """A checked decode step whose keys lie feature by feature.

    rows: the step as the other kernels know it (its k only stands in for shape and format);
    k: [B, KVH, d, n], float8 as uint8 where the device cannot convert it itself.
    """

    rows: DecodeRequest
    k: torch.Tensor


def check_feature_major(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    trials: int,
    scale: str,
    seq_lens: torch.Tensor | None,
    sm_scale: float | None,
    kv_layout: str,
    k_scale: torch.Tensor | None,
    v_scale: torch.Tensor | None,
    on_any_device: bool = False,
) -> FeatureMajorRequest:
    """Check the inputs of a step with keys [B, KVH, d, n]; the rest as `check_decode`.

    Raises `ValueError` naming argument, requirement and value.
    """
    import torch

    require(isinstance(k, torch.Tensor), "k", "a torch tensor", type(k).__name__)
    require(k.dim() == 4, "k", "of rank 4, [batch, num_kv_heads, head_dim, n]",
            f"shape {tuple(k.shape)}")
    require(k.stride(3) == 1 or k.shape[3] <= 1, "k",
            "contiguous along the keys of a feature (stride 1)", f"stride {k.stride(3)}")
    require(kv_layout in LAYOUTS, "kv_layout", f"one of {', '.join(LAYOUTS)}", repr(kv_layout))
    batch, kv_heads, dim, n = k.shape
    # a view of the shape that the caches of other kernels have; nothing is read through it
    inner = (n, kv_heads) if kv_layout == "NHD" else (kv_heads, n)
    stand_in = k.as_strided((batch, *inner, dim), (0, 0, 0, 1))
    rows = check_decode(
        q, stand_in, v, seq_lens=seq_lens, sm_scale=sm_scale, kv_layout=kv_layout,
        k_scale=k_scale, v_scale=v_scale, on_any_device=on_any_device,
    )
    valid = isinstance(trials, int) and not isinstance(trials, bool)
    require(valid and 1 <= trials <= MAX_TRIALS, "trials", f"an integer within 1..{MAX_TRIALS}",
            trials)
    require(scale in SCALES, "scale", f"one of {', '.join(SCALES)}", repr(scale))
    return FeatureMajorRequest(rows, k if rows.k.dtype == k.dtype else k.view(rows.k.dtype))


def digit_shapes(request: DecodeRequest) -> list[tuple[tuple[int, ...], torch.dtype]]:
    """Return (shape, dtype) of digits and unit, for `Workspace.cut`."""
    import torch

    heads = (request.batch, request.num_qo_heads)
    return [((*heads, request.head_dim), torch.int32), (heads, torch.float32)]


def digits_to_fill(
    request: DecodeRequest, digits: torch.Tensor | None, scratch: torch.Tensor
) -> torch.Tensor:
    """Return the caller's tensor for the digits, checked, or the scratch."""
    import torch

    if digits is None:
        return scratch
    check_output("digits", digits, tuple(request.q.shape), torch.int32, request.q)
    return digits


def draw_digits(
    request: DecodeRequest, trials: int, scale: str, state: torch.Tensor, layer: int,
    digits: torch.Tensor, unit: torch.Tensor,
) -> None:
    """Fill digits, int32 [B, H, d], and unit = c/R, float32 [B, H]."""
    q = request.q
    digits_kernel[(request.num_qo_heads, request.batch)](
        q, state, digits, unit, q.stride(0), q.stride(1), request.sm_scale, trials, layer,
        HEAD_DIM=request.head_dim, BLOCK_D=next_power_of_two(request.head_dim),
        POWER_OF_TWO=scale == "power_of_two", num_warps=1, **first_launch(q.device),
    )


def key_arguments(request: FeatureMajorRequest) -> dict[str, Any]:
    """Return the keyword arguments that say where keys lie and which of them count."""
    rows = request.rows
    return {
        "q_ptr": rows.q,
        "k_ptr": request.k,
        "lens_ptr": rows.seq_lens,
        "k_scale_ptr": rows.k_scale,
        "capacity": rows.context,
        "group": rows.group,
        "k_stride_0": request.k.stride(0),
        "k_stride_h": request.k.stride(1),
        "k_stride_d": request.k.stride(2),
        "HEAD_DIM": rows.head_dim,
        "BLOCK_D": next_power_of_two(rows.head_dim),
    }


def features_read(digits: torch.Tensor, num_kv_heads: int) -> torch.Tensor:
    """Return how many features of each KV head some query head of its group touches, [B, KVH].

    digits: int32 [B, H, d]. Each costs n·itemsize bytes of keys; the d − features_read others
    are skipped.
    """
    batch, heads, dim = digits.shape
    grouped = digits.view(batch, num_kv_heads, heads // num_kv_heads, dim)
    return (grouped != 0).any(2).sum(2)
