"""What a row of the bench must say before it is compared with anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gpu_kernels.calibration.rows import Row
from hw_models.problems import Document, Problem, SpecError
from hw_models.pydantic_faults import explain

AtLeastOne = Annotated[int, Field(ge=1, le=2**40)]
OrNone = Annotated[int, Field(ge=0, le=2**40)]
Positive = Annotated[float, Field(gt=0, lt=1e12, allow_inf_nan=False)]
MAX_PROBLEMS = 20


class BenchRow(BaseModel):
    """The columns that a prediction reads; any other may stand beside them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    kernel: Literal["dense", "s2anta_flash", "s2anta_comb", "s2anta_prop", "bernoulli_qk",
                    "bernoulli_qk_flash", "sdpa_cudnn", "sdpa_flash", "flashinfer"]
    batch: AtLeastOne
    context: AtLeastOne
    num_qo_heads: AtLeastOne
    num_kv_heads: AtLeastOne
    head_dim: Annotated[int, Field(ge=16, le=256)]
    samples: AtLeastOne
    tile: OrNone
    trials: OrNone
    dtype: Literal["bfloat16", "float16", "float32", "float8_e4m3fn"]
    kv_layout: Literal["NHD", "HND"]
    inputs: Annotated[str, Field(pattern=r"^(flat|zipf_[0-9.]+|capture_.+)$")]
    l2: Literal["cold", "warm", "steady"]
    time_us: Positive

    @model_validator(mode="after")
    def _whole_groups(self) -> Self:
        if self.num_qo_heads % self.num_kv_heads:
            raise ValueError(f"num_qo_heads must be a multiple of num_kv_heads, got"
                             f" {self.num_qo_heads} and {self.num_kv_heads}")
        return self


def check_bench_rows(rows: Iterable[Row]) -> None:
    """Raise `SpecError` with a line for every cell that is no such thing, the first 20."""
    problems: list[Problem] = []
    for row in rows:
        try:
            BenchRow.model_validate(row.cells)
        except ValidationError as error:
            document = Document(row.file, row.cells, {(): row.line})
            problems += explain(error, document, BenchRow)
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise SpecError(problems[:MAX_PROBLEMS])
