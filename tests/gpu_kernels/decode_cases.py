"""Inputs and tolerances that the kernel tests share."""

import numpy as np
import torch

UNIT = {torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
"""Unit roundoff: half the distance of 1 to the next number."""


def make(device, *, batch=1, heads=4, kv_heads=2, dim=64, context=100, dtype=torch.float32,
         layout="NHD", seed=0, spread=1.0):
    """Return q, k, v; logits have a standard deviation of about `spread`."""
    generator = torch.Generator().manual_seed(seed)
    inner = (context, kv_heads) if layout == "NHD" else (kv_heads, context)
    q = spread * torch.randn(batch, heads, dim, generator=generator)
    k, v = (torch.randn(batch, *inner, dim, generator=generator) for _ in range(2))
    return tuple(t.to(dtype).to(device) for t in (q, k, v))


def lengths(device, *values):
    return torch.tensor(values, dtype=torch.int32, device=device)


def assert_close(out, exact, magnitude, dtype, terms=2):
    """|out − exact| within `terms` roundings of the storage format to Σ p·|v| (= magnitude).

    Roundings: of each softmax weight before the product with V, and of the output; plus float32
    sums: scores of up to 40 logits carry 40·d·2^-24 < 2e-4 for the largest d.
    """
    allowed = (terms * UNIT[dtype] + 2e-4) * magnitude + 1e-6
    worst = ((out.double().cpu() - exact.cpu()).abs() / allowed.cpu()).max()
    assert float(worst) <= 1.0, f"{float(worst):.2f} times the derived tolerance"


def teeth_that_differ(rows, decoded):
    """Count draws that fall to other rows than the CPU model's, and all its draws.

    rows: int32 [B, H, R], −1 where none; decoded: of `santa_sim.methods.decode.decode`.
    """
    found = rows.cpu().numpy()
    moved = total = 0
    for b in range(found.shape[0]):
        for h in range(found.shape[1]):
            mine = found[b, h][found[b, h] >= 0]
            theirs, counts = decoded.rows.of(b, h)
            n = 1 + max([0, *mine.tolist(), *theirs.tolist()])
            wanted = np.zeros(n, np.int64)
            wanted[theirs] = counts
            difference = np.bincount(mine, minlength=n) - wanted
            moved += int(np.abs(difference).sum()) // 2 + abs(int(difference.sum()))
            total += int(counts.sum())
    return moved, total
