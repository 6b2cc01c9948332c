"""The arguments that every kernel which reads the cache takes, in one place and order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpu_kernels.split_plan import device_limits, next_power_of_two

if TYPE_CHECKING:
    import torch

    from gpu_kernels.request import DecodeRequest

LOG2_E = 1.4426950408889634


def cache_arguments(request: DecodeRequest) -> dict[str, Any]:
    """Return the keyword arguments that say where queries and keys lie and how they are scored.

    Scores are kept in units of log2: q·k·sm_scale·log2(e), so that 2^s is the softmax's weight.
    """
    pages = request.pages
    return {
        "q_ptr": request.q,
        "k_ptr": request.k,
        "lens_ptr": request.seq_lens if pages is None else pages.last_page_len,
        "indptr_ptr": None if pages is None else pages.kv_indptr,
        "indices_ptr": None if pages is None else pages.kv_indices,
        "k_scale_ptr": request.k_scale,
        "capacity": request.context,
        "group": request.group,
        "q_stride_b": request.q.stride(0),
        "q_stride_h": request.q.stride(1),
        "k_stride_0": request.k_strides[0],
        "k_stride_h": request.k_strides[2],
        "K_STRIDE_N": request.k_strides[1],
        "log2_scale": request.sm_scale * LOG2_E,
        "HEAD_DIM": request.head_dim,
        "BLOCK_D": next_power_of_two(request.head_dim),
        "PAGE_SIZE": request.page_size,
    }


def value_arguments(request: DecodeRequest) -> dict[str, Any]:
    """Return the keyword arguments that say where values lie."""
    return {
        "v_ptr": request.v,
        "v_stride_0": request.v_strides[0],
        "v_stride_h": request.v_strides[2],
        "V_STRIDE_N": request.v_strides[1],
    }


def overlaps_launches(device: torch.device) -> bool:
    """Return whether a kernel's launch may overlap its predecessor's end, from sm_90 on."""
    return device.type == "cuda" and device_limits(device).capability >= (9, 0)


def first_launch(device: torch.device) -> dict[str, bool]:
    """Return the arguments of a kernel that lets its successor be launched while it runs."""
    return {"PDL": overlaps_launches(device)}


def dependent_launch(device: torch.device) -> dict[str, bool]:
    """Return the arguments of a kernel that waits for its predecessor by itself.

    Its launch overlaps the predecessor's run (programmatic dependent launch); it must read no
    result before `gdc_wait`.
    """
    return {"PDL": True, "launch_pdl": True} if overlaps_launches(device) else {"PDL": False}
