"""What a compiled kernel's machine code says: the instructions of its loop."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,6})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)([^;]*);")
TARGET = re.compile(r"0x([0-9a-f]+)\s*$")


def disassembled(cubin: bytes, option: str = "-sass") -> str:
    """Return what Triton's cuobjdump prints of a cubin.

    Raises `OSError` or `subprocess.SubprocessError` where the tool is missing or refuses.
    """
    from triton.backends import nvidia

    tool = Path(nvidia.__file__).parent / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(  # noqa: S603 - Triton's own tool on a file written above
            [str(tool), option, file.name], capture_output=True, text=True, check=True
        )
    return done.stdout


def loop_instructions(sass: str) -> float | None:
    """Return the instructions that a warp executes per turn of a kernel's longest loop.

    A loop is what lies between a branch back and its target. Where the assembler has unrolled one,
    the rest of its turns has a loop of its own, and the longer one does u times the work of the
    shorter: u is the ratio of their most frequent instruction, and the answer that of the longer
    one, divided by u. None where there is no loop. Both sides of a branch inside are counted.
    """
    code = [(int(place, 16), name, rest) for place, name, rest in INSTRUCTION.findall(sass)]
    loops = []
    for place, name, rest in code:
        target = TARGET.search(rest) if name.split(".")[0] == "BRA" else None
        # a branch to itself is padding after the end
        if target and int(target[1], 16) < place:
            start = int(target[1], 16)
            loops.append(Counter(n.split(".")[0] for p, n, _ in code if start <= p <= place))
    if not loops:
        return None
    longest = max(loops, key=Counter.total)
    most = longest.most_common(1)[0][0]
    ratios = [longest[most] / loop[most] for loop in loops if loop is not longest and loop[most]]
    turns = max((ratio for ratio in ratios if ratio.is_integer()), default=1.0)
    return longest.total() / turns
