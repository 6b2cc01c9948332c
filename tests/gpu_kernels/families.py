"""Every kernel family behind one call, for the rules that all of them keep."""

from dataclasses import dataclass

import torch

from gpu_kernels.bernoulli_qk.api import bernoulli_qk_decode, bernoulli_qk_flash_decode
from gpu_kernels.dense.api import dense_decode
from gpu_kernels.s2anta_comb.api import s2anta_comb_decode
from gpu_kernels.s2anta_flash.api import s2anta_flash_decode
from gpu_kernels.s2anta_flash.budget import rows_per_head
from gpu_kernels.s2anta_prop.api import s2anta_prop_decode

SAMPLES, TILE = 24, 32
DECODE = {
    "dense": dense_decode,
    "s2anta_flash": s2anta_flash_decode,
    "s2anta_comb": s2anta_comb_decode,
    "s2anta_prop": s2anta_prop_decode,
    "bernoulli_qk": bernoulli_qk_decode,
    "bernoulli_qk_flash": bernoulli_qk_flash_decode,
}
ROW_MAJOR = ("dense", "s2anta_flash", "s2anta_comb", "s2anta_prop")
FEATURE_MAJOR = ("bernoulli_qk", "bernoulli_qk_flash")
SAMPLED = ("s2anta_flash", "s2anta_comb", "s2anta_prop", "bernoulli_qk_flash")
RANDOM = (*SAMPLED, "bernoulli_qk")


def own_arguments(name):
    """Return the arguments that a family needs beyond those of all."""
    own = {"samples": SAMPLES, "tile": TILE} if name in SAMPLED else {}
    own |= {"trials": 3} if name in FEATURE_MAJOR else {}
    return own | ({"seed": 5} if name in RANDOM else {})


def keys_for(name, k, layout="NHD"):
    """Return keys as the family stores them; k: [B, n, KVH, d] (or HND)."""
    if name in ROW_MAJOR:
        return k
    return (k.permute(0, 2, 3, 1) if layout == "NHD" else k.transpose(2, 3)).contiguous()


@dataclass
class Result:
    """What one call wrote; rows int32 [B, H, R] and digits int32 [B, H, d] where it has them."""

    out: torch.Tensor
    lse: torch.Tensor
    rows: torch.Tensor | None
    digits: torch.Tensor | None

    def equals(self, other):
        """Whether every bit is the same."""
        mine, theirs = vars(self).values(), vars(other).values()
        return all(a is b if a is None else torch.equal(a, b)
                   for a, b in zip(mine, theirs, strict=True))


def decode(name, q, k, v, *, context, **arguments):
    """Call a family with keys stored as it wants them; context: keys a sequence can have."""
    extra = own_arguments(name) | arguments
    rows = digits = None
    if name in SAMPLED:
        flash = name in ("s2anta_flash", "bernoulli_qk_flash")
        most = rows_per_head(SAMPLES, TILE, context) if flash else SAMPLES
        extra["rows"] = rows = torch.empty(*q.shape[:2], most, dtype=torch.int32, device=q.device)
    if name in FEATURE_MAJOR:
        extra["digits"] = digits = torch.empty(q.shape, dtype=torch.int32, device=q.device)
    out, lse = DECODE[name](q, k, v, return_lse=True, **extra)
    return Result(out, lse, rows, digits)
