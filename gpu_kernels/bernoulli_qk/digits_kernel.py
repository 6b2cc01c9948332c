"""First pass of `bernoulli_qk`: every query becomes whole numbers, sums of R ternary digits."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl

from gpu_kernels.random_offsets import step_and_layer

TERNARY = tl.constexpr(1 << 28)
"""Purpose 1 in the counter's first word: digits, not draws of rows."""


@triton.jit
def digit_unit(top, trials, POWER_OF_TWO: tl.constexpr):
    """Return c/R, what one digit stands for, float64.

    c = top = max_j |q_j|, or the least c >= top for which c/R is a power of two.
    """
    unit = top / trials
    if POWER_OF_TWO:
        bits = unit.to(tl.int64, bitcast=True)
        # without a mantissa the exponent is right, else the next one is
        exponent = (bits >> 52) + tl.where((bits & 0xFFFFFFFFFFFFF) != 0, 1, 0)
        unit = tl.where(top > 0, (exponent << 52).to(tl.float64, bitcast=True), 0.0)
    return unit


@triton.jit
def digits_kernel(
    q_ptr, state_ptr, digits_ptr, unit_ptr, q_stride_b, q_stride_h, sm_scale, trials, layer,
    HEAD_DIM: tl.constexpr, BLOCK_D: tl.constexpr, POWER_OF_TWO: tl.constexpr,
    PDL: tl.constexpr,
):
    """Store digits_j = sign(q_j)·#{r < R: u_rj < |q_j|/c} and unit = c/R of one query head.

    u_rj: the model's uniform number r·d + j of purpose 1 for this sequence and head. Comparing in
    units of 2^-24, which u is a multiple of, and dividing in float64 give the model's digits.
    Grid (H, B). digits: int32 [B·H, d]; unit: float32 [B·H].
    Source: SANTA, arXiv 2605.01910, section 4.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    head, batch = tl.program_id(0), tl.program_id(1)
    flat_head = (batch * tl.num_programs(0) + head).to(tl.int64)
    dims = tl.arange(0, BLOCK_D)
    inside = dims < HEAD_DIM
    q = tl.load(q_ptr + batch.to(tl.int64) * q_stride_b + head * q_stride_h + dims, inside,
                other=0.0).to(tl.float32) * sm_scale
    size = tl.abs(q).to(tl.float64)
    top = tl.max(size, 0)
    unit = digit_unit(top, trials, POWER_OF_TWO)
    least = tl.where(top > 0, size / tl.where(top > 0, unit * trials, 1.0), 0.0) * 16777216.0
    limit = tl.ceil(least).to(tl.int32)

    seed = tl.load(state_ptr)
    # one call of the generator gives the four numbers of neighbouring features: d is divisible by 4
    quad = tl.arange(0, BLOCK_D // 4)
    who = ((batch.to(tl.uint32) << 16) | head.to(tl.uint32)) + quad.to(tl.uint32) * 0
    when = step_and_layer(state_ptr, layer).to(tl.uint32) + who * 0
    hits = tl.zeros([BLOCK_D], tl.int32)
    for trial in range(trials):
        count = (quad + trial * (HEAD_DIM // 4) + TERNARY).to(tl.uint32)
        a, b, c, d = tl.philox(seed, count, who * 0, who, when)
        words = tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), [BLOCK_D])
        hits += ((words >> 8).to(tl.int32) < limit).to(tl.int32)
    tl.store(digits_ptr + flat_head * HEAD_DIM + dims, tl.where(q > 0, hits, -hits), inside)
    tl.store(unit_ptr + flat_head, unit.to(tl.float32))
