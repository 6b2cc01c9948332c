"""Where a measurement comes from: device, driver, clocks, versions and source."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def provenance() -> dict[str, str]:
    """Return the columns that every row of a measurement file carries."""
    import torch

    queried = _nvidia_smi("driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit")
    properties = torch.cuda.get_device_properties(0)
    return {
        "date_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": properties.name,
        "capability": f"{properties.major}.{properties.minor}",
        "l2_bytes": str(properties.L2_cache_size),
        "driver": queried[0],
        "sm_clock_mhz": queried[1],
        "memory_clock_mhz": queried[2],
        "max_sm_clock_mhz": queried[3],
        "power_limit_w": queried[4],
        "torch": torch.__version__,
        "triton": version("triton"),
        "flashinfer": _version("flashinfer-python"),
        "git_commit": git_commit(),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _nvidia_smi(fields: str) -> list[str]:
    try:
        # a fixed command, wherever the driver put it
        done = subprocess.run(  # noqa: S603
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", "-i", "0"],  # noqa: S607
            capture_output=True, text=True, check=True, timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return ["unknown"] * len(fields.split(","))
    return [text.strip() for text in done.stdout.strip().split(",")]


def git_commit() -> str:
    """Return the commit of the source, `+changes` if files differ from it, or `unknown`."""
    root = Path(__file__).parent.parent.parent
    try:
        head, status = (
            subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True,  # noqa: S603, S607
                           check=True, timeout=20).stdout.strip()
            for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "gpu_kernels"])
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return head + ("+changes" if status else "")
