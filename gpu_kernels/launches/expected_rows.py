"""How many value rows and key features a call is expected to read, from the attention itself.

A systematic comb of S points draws a row of probability p with probability min(1, S·p); heads with
offsets of their own draw independently, so a KV head reads a row with 1 − Π_g (1 − min(1, S·p_g)).
"""

from __future__ import annotations

import json
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_kernels.decode_sizes import Sizes
from gpu_kernels.launches.call import DecodeCall
from gpu_kernels.s2anta_flash.budget import tile_budget
from hw_models.problems import Problem, SpecError, did_you_mean

Floats = NDArray[np.float64]
CAPTURE = Path("santa_sim/captures/smollm2-135m.npz")
"""Where the bench's configurations find captured attention, from the repository's root."""
GROUPS = 4
"""KV heads that stand for all, where heads differ by chance alone."""
OFFSETS = 16
"""Equally spaced offsets that stand for a shared one, which is uniform."""


def captured_scores(path: Path, trace: str) -> NDArray[np.float32]:
    """Return the logits of one captured trace, [steps·H, n], KV heads' groups together.

    path: npz with `{trace}_q` [steps, H, d], `{trace}_K` [n, KVH, d] and a JSON text `meta` that
    holds `scale`. Only the keys that every step reads are used. Raises `SpecError` for a file or a
    trace that is not there.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            meta = json.loads(str(file["meta"]))
            traces = {t["id"]: t for t in meta["traces"]}
            if trace not in traces:
                raise SpecError(Problem(f"has no trace '{trace}'{did_you_mean(trace, traces)}",
                                        str(path)))
            q = file[f"{trace}_q"].astype(np.float32)
            k = file[f"{trace}_K"].astype(np.float32)
    except OSError as error:
        raise SpecError(Problem(f"cannot read: {error.strerror or error}", str(path))) from None
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(Problem(f"is no capture: {error}", str(path))) from None
    found = traces[trace]
    k = k[: min(found["kv_len_of_step"])]
    steps, heads, dim = q.shape
    grouped = q.reshape(steps, k.shape[1], heads // k.shape[1], dim)
    scores: NDArray[np.float32] = np.einsum("skgd,nkd->skgn", grouped, k) * np.float32(
        meta["scale"])
    return scores.reshape(-1, k.shape[0])


def expected_rows(
    call: DecodeCall, inputs: str, offsets: str, capture: Path = CAPTURE
) -> float:
    """Return the value rows read at least once, summed over KV heads and sequences.

    inputs: `flat`, `zipf_<exponent>` or `capture_<trace>`, as the bench makes them. offsets: `own`
    or `shared`. Budgets by largest remainder draw as a comb does, up to a row per tile.
    """
    sizes = call.sizes
    if call.kernel in ("dense", "bernoulli_qk"):
        return float(call.keys)
    per_group = _rows_per_group(sizes, call.samples, call.tile, call.kernel, inputs, offsets,
                                capture)
    return sizes.batch * sizes.num_kv_heads * per_group


@lru_cache(maxsize=512)
def _rows_per_group(
    sizes: Sizes, samples: int, tile: int, kernel: str, inputs: str, offsets: str, capture: Path
) -> float:
    tiles = -(-sizes.context // tile)
    equal = kernel in ("s2anta_flash", "bernoulli_qk_flash")
    found = []
    for weights in _weight_groups(sizes.context, sizes.group, sizes.head_dim,
                                  sizes.batch * sizes.num_qo_heads, inputs, capture):
        if equal:
            # one budget for every tile; a tile starts at a whole number of draws
            expected = tile_budget(samples, tiles) * _shares(_in_tiles(weights, tile))
        else:
            expected = samples * _shares(weights[:, None, :])
        found.append(_union(expected, shared=offsets == "shared"))
    return float(np.mean(found))


@lru_cache(maxsize=16)
def _weight_groups(
    context: int, group: int, head_dim: int, heads: int, inputs: str, capture: Path
) -> tuple[Floats, ...]:
    """Return softmax weights up to a factor, [G, n], of some KV heads, which stand for all.

    heads: query heads of all sequences.
    """
    generator = np.random.default_rng(0)
    if inputs == "flat":
        # q·k/√d of standard normal numbers, given |q|
        widths = np.sqrt(generator.chisquare(head_dim, (GROUPS, group)) / head_dim)
        scores = [generator.standard_normal((group, context)) * width[:, None] for width in widths]
    elif inputs.startswith("zipf_"):
        fall = -float(inputs.partition("_")[2]) * np.log(np.arange(1, context + 1))
        scores = [np.stack([generator.permutation(fall) for _ in range(group)])
                  for _ in range(GROUPS)]
    else:
        captured = captured_scores(capture, inputs.partition("_")[2]).astype(np.float64)
        index = (np.arange(context) * (captured.shape[1] / context)).astype(np.int64)
        # query head h of sequence b has row (b·H + h) mod rows, so groups start at so many rows
        starts = sorted({first % len(captured) for first in range(0, heads, group)})
        scores = [captured[(start + np.arange(group)) % len(captured)][:, index]
                  for start in starts]
    return tuple(np.exp(one - one.max(1, keepdims=True)) for one in scores)


def _in_tiles(weights: Floats, tile: int) -> Floats:
    """Return weights [G, n] as [G, tiles, tile], zeros after the last."""
    group, n = weights.shape
    tiles = -(-n // tile)
    if n == tiles * tile:
        return weights.reshape(group, tiles, tile)
    padded = np.zeros((group, tiles * tile))
    padded[:, :n] = weights
    return padded.reshape(group, tiles, tile)


def _shares(weights: Floats) -> Floats:
    """Return weights [G, tiles, keys] over the sum of their tile; 0 in a tile without any."""
    totals = weights.sum(2, keepdims=True)
    return np.asarray(weights / np.where(totals > 0, totals, 1.0))


def _union(expected: Floats, *, shared: bool) -> float:
    """Return the rows that some head is expected to draw; expected: draws, [G, tiles, keys]."""
    if not shared:
        missed = np.prod(1 - np.minimum(1, expected), axis=0)
        return float(missed.size - missed.sum())
    running = np.cumsum(expected, axis=2)
    ahead = running - expected
    seen = 0
    for offset in (np.arange(OFFSETS) + 0.5) / OFFSETS:
        drawn = np.floor(running + offset) > np.floor(ahead + offset)
        seen += int(drawn.any(axis=0).sum())
    return seen / OFFSETS


def expected_features(call: DecodeCall) -> float:
    """Return the key features that some query head touches, summed over KV heads and sequences.

    Feature j of a head has no digit with probability (1 − |q_j|/c)^R, c = max_j |q_j|; the queries
    of the bench are normal, or directions that look so.
    """
    if not call.trials:
        return 0.0
    sizes = call.sizes
    return sizes.batch * sizes.num_kv_heads * _features_per_group(
        sizes.head_dim, sizes.group, call.trials)


@lru_cache(maxsize=64)
def _features_per_group(dim: int, group: int, trials: int) -> float:
    q: Any = np.abs(np.random.default_rng(0).standard_normal((4096, group, dim)))
    untouched = (1 - q / q.max(2, keepdims=True)) ** trials
    return float((1 - untouched.prod(1)).sum(1).mean())
