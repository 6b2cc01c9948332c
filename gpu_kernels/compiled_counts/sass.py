"""Counts the instructions of a disassembled kernel: of one turn of its loop, and all others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gpu_kernels.machine_code import TARGET
from hw_models.gpu.launch import Steps

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,6})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);")
STORES = ("STS", "STSM")
"""Stores to shared memory; a barrier after one lets other warps read what was stored."""
SPECIAL = ("MUFU", "F2F", "F2I", "I2F")
"""Instructions of the unit that takes a quarter of a warp per cycle: exponentials, conversions."""
TENSOR = ("HMMA", "HGMMA")
SHAPE = re.compile(r"\.64x(\d+)x16")


@dataclass(frozen=True)
class KernelSteps:
    """What one warp executes.

    once: outside of the main loop; turn: in each turn of it; branch: in the parts of the loop that
    a branch may skip, all taken once.
    """

    once: Steps
    turn: Steps
    branch: Steps


@dataclass(frozen=True)
class _Instruction:
    place: int
    conditional: bool
    name: str
    target: int | None
    passes_on: bool = False


def kernel_steps(sass: str, *, unrolled: bool = False) -> KernelSteps:
    """Count a kernel's instructions as `machine_code.disassembled` shows them.

    The main loop is the longest run from the target of a branch back up to that branch. A branch
    ahead under a predicate, within the loop, may skip what lies before its target. Branches outside
    of the loop are taken to skip nothing. What follows the last end of the kernel is padding.
    unrolled: the loop may do several turns at once, the rest of them in a shorter loop beside it;
    then the ratio of their most frequent instruction says how many.
    """
    code = _parsed(sass)
    ends = [i for i, one in enumerate(code) if one.name.startswith("EXIT")]
    code = code[: ends[-1] + 1] if ends else code
    index = {one.place: i for i, one in enumerate(code)}
    jumps = [(i, index[one.target]) for i, one in enumerate(code) if one.target in index]
    loops = [(target, i + 1) for i, target in jumps if target <= i]
    first, end = max(loops, key=lambda loop: loop[1] - loop[0], default=(0, 0))
    skipped: set[int] = set()
    for i, target in jumps:
        if first <= i < end and i < target and code[i].conditional:
            skipped |= set(range(i + 1, min(target, end)))
    turns = _turns_at_once(code, first, end, loops) if unrolled else 1.0
    turn = _steps(code[i] for i in range(first, end) if i not in skipped)
    return KernelSteps(_steps([*code[:first], *code[end:]]), Steps().plus(turn, 1 / turns),
                       _steps(code[i] for i in skipped))


def _turns_at_once(
    code: list[_Instruction], first: int, end: int, loops: list[tuple[int, int]]
) -> float:
    def names(loop: tuple[int, int]) -> Counter[str]:
        return Counter(one.name.split(".")[0] for one in code[loop[0]:loop[1]])

    longest = names((first, end))
    if not longest:
        return 1.0
    most, count = longest.most_common(1)[0]
    needed = {name for name in longest if name in ("BAR", *SPECIAL, *TENSOR)}
    others = [names(loop) for loop in loops if loop != (first, end)]
    ratios = [count / other[most] for other in others if other[most] and needed <= set(other)]
    return max((ratio for ratio in ratios if ratio.is_integer()), default=1.0)


def _steps(code: Iterable[_Instruction]) -> Steps:
    listed = list(code)
    names = [one.name for one in listed]
    kinds = [name.split(".")[0] for name in names]
    return Steps(len(names), float(sum(one.passes_on for one in listed)),
                 float(sum(kind in SPECIAL for kind in kinds)), sum(map(_products, names)))


def _products(name: str) -> float:
    """Return a warp's products of 16 × 8 × 16 numbers; four warps share one of 64 × N × 16."""
    if not name.startswith(TENSOR):
        return 0.0
    wide = SHAPE.search(name)
    return int(wide[1]) / 8 if wide else 0.5 if ".1688." in name else 1.0


def _parsed(sass: str) -> list[_Instruction]:
    found, stored = [], False
    for place, predicate, name, rest in INSTRUCTION.findall(sass):
        kind = name.split(".")[0]
        target = TARGET.search(rest) if kind == "BRA" else None
        found.append(_Instruction(int(place, 16), bool(predicate), name,
                                  int(target[1], 16) if target else None,
                                  kind == "BAR" and stored))
        stored = kind in STORES or (stored and kind != "BAR")
    return found
