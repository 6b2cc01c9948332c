"""What an accelerator file says about its pipeline, and about the DRAM that it hangs on.

These are specs alone; `hw_models.pipeline` simulates them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from hw_models.arithmetic import SPEC
from hw_models.quantity import Seconds

Bytes = Field(gt=0, strict=True)
Count = Field(ge=1, le=4096, strict=True)


class DramBehind(BaseModel):
    """The simulated memory behind a `Memory`.

    preset: a name in `hw_models/dram/presets`, or a path to a YAML file of that kind, relative to
        the file that names it.
    copies: so many of them side by side, a power of two.
    """

    model_config = SPEC

    preset: str = Field(min_length=1)
    copies: Literal[1, 2, 4, 8, 16, 32, 64] = 1


class PipelineBuffers(BaseModel):
    """Bytes of SRAM for what passes from one stage to the next; each must hold one tile.

    stream: between the stream engine and the first stage. gather: between the gather engine and
    the accumulators. scores: results of the first stage. indices: lists of rows to gather.
    """

    model_config = SPEC

    stream: int = Bytes
    gather: int = Bytes
    scores: int = Bytes
    indices: int = Bytes


class InFlight(BaseModel):
    """Transfers that an engine has on their way at once."""

    model_config = SPEC

    stream: int = Count
    gather: int = Count


class Pipeline(BaseModel):
    """How the units of an accelerator form a pipeline: one stage per phase of the ledger.

    type, source: what it is and why it is sized so. path: seconds from an engine to the memory,
    and as long back. queue: requests that the scheduler of a memory channel sees; page: its policy.
    in_flight, buffers: of the engines. resident: pieces of work, such as heads, whose state
    (inputs, stash, accumulators) the buffer holds at once.
    """

    model_config = SPEC

    type: str = Field(min_length=1)
    source: str = Field(min_length=1)
    path: Seconds
    queue: int = Count
    page: Literal["open", "closed"]
    in_flight: InFlight
    buffers: PipelineBuffers
    resident: int = Count
