"""What a real call launches, recorded without a GPU, in the words of the launch descriptions."""

from __future__ import annotations

from typing import Any

from gpu_kernels.compiled_counts.table import Variant, variant_text
from gpu_kernels.launches.call import DecodeCall
from gpu_kernels.microbench.setting import Probe
from gpu_kernels.offline_compile import RecordedLaunch, record_call
from gpu_kernels.split_plan import OFFLINE_LIMITS

CACHES = {"cache": ("k_ptr", "v_ptr"), "out": ("out_ptr",), "q": ("q_ptr",)}
"""Name of a format among the compile-time arguments -> the pointers that may show it."""
PREFERRED = {"partial_results.merge_kernel": "out",
             "s2anta_comb.draw_kernel.add_parts_kernel": "out",
             "bernoulli_qk.digits_kernel.digits_kernel": "q",
             "s2anta_prop.budget_kernel.budget_kernel": "",
             "microbench.compute_kernels.arithmetic_kernel": "",
             "microbench.compute_kernels.tile_kernel": ""}
"""Kernels whose format is not that of the caches."""


def recorded_launches(
    call: DecodeCall, capability: tuple[int, int], kv_layout: str = "NHD",
    multiprocessors: int | None = None,
) -> list[RecordedLaunch]:
    """Return the launches of the decode function itself, called on tensors that nobody reads."""
    return record_call(lambda: _decode(call, kv_layout), capability, multiprocessors)


def microbench_launches(capability: tuple[int, int]) -> list[RecordedLaunch]:
    """Return the launches of the microbenchmarks of arithmetic and of tiles, one of each form."""
    import torch

    from gpu_kernels.microbench.lab import Lab
    from gpu_kernels.microbench.plan import PARTS, points

    lab = Lab(torch.device("cpu"), 2**20)
    forms: dict[tuple[object, ...], Probe] = {}
    for probe in points(PARTS, OFFLINE_LIMITS[capability].multiprocessors):
        s = probe.setting
        if s.kernel in ("arithmetic", "tile"):
            form = (s.kernel, s.op, s.block_n, s.num_warps, s.columns, s.samples, s.stages)
            forms.setdefault(form, probe)
    return [launch for probe in forms.values()
            for launch in record_call(probe.make(lab), capability)]


def variant_of(recorded: RecordedLaunch) -> Variant:
    """Return the variant of a recorded launch."""
    kernel, arguments = recorded.kernel, recorded.arguments
    name = f"{kernel.fn.__module__.removeprefix('gpu_kernels.')}.{kernel.fn.__name__}"
    fixed = {p.name: arguments.get(p.name, p.default) for p in kernel.params if p.is_constexpr}
    shown = PREFERRED.get(name, "cache")
    if shown:
        pointer = next(arguments[p] for p in CACHES[shown] if arguments.get(p) is not None)
        fixed[shown] = _dtype_name(pointer)
    if name == "stash_draws.draw_kernel":
        fixed["starts"] = int(arguments["start_ptr"] is not None)
    if "SPLITS_PER_RESULT" in fixed:
        fixed["answers"] = int(arguments["out_ptr"] is not None)
    return Variant(name, variant_text(fixed), arguments["num_warps"],
                   arguments.get("num_stages", 3))


def _dtype_name(tensor: Any) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    # before compute capability 8.9 float8 is handed over as bytes
    return "float8_e4m3fn" if name == "uint8" else name


def _decode(call: DecodeCall, kv_layout: str) -> None:
    import torch

    from gpu_kernels.bernoulli_qk.api import bernoulli_qk_decode, bernoulli_qk_flash_decode
    from gpu_kernels.dense.api import dense_decode
    from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
    from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
    from gpu_kernels.s2anta_prop.api import s2anta_prop_decode

    decode: dict[str, Any] = {
        "dense": dense_decode, "s2anta_flash": s2anta_flash_decode,
        "s2anta_comb": s2anta_comb_decode, "s2anta_prop": s2anta_prop_decode,
        "bernoulli_qk": bernoulli_qk_decode, "bernoulli_qk_flash": bernoulli_qk_flash_decode,
    }
    s = call.sizes
    cache_type = getattr(torch, call.dtype)
    # memory that nobody touches costs nothing
    inner = (s.context, s.num_kv_heads) if kv_layout == "NHD" else (s.num_kv_heads, s.context)
    v = torch.empty(s.batch, *inner, s.head_dim, dtype=cache_type)
    by_feature = (s.batch, s.num_kv_heads, s.head_dim, s.context)
    k = v.view(by_feature) if call.kernel.startswith("bernoulli_qk") else v
    q = torch.empty(s.batch, s.num_qo_heads, s.head_dim, dtype=getattr(torch, call.query_dtype))
    given: dict[str, Any] = {"kv_layout": kv_layout}
    if call.dtype == "float8_e4m3fn":
        scale = torch.ones(s.num_kv_heads)
        given |= {"k_scale": scale, "v_scale": scale}
    if call.samples:
        given |= {"samples": call.samples, "tile": call.tile}
    if call.trials:
        given["trials"] = call.trials
    decode[call.kernel](q, k, v, **given)
