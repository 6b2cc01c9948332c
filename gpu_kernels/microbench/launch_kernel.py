"""Triton kernel that does nothing, or the least that depends on the kernel before it."""

# mypy: disable-error-code="no-untyped-def"
# a kernel's arguments are Triton values, which have no Python types

import triton
import triton.language as tl


@triton.jit
def relay_kernel(count_ptr, RELAY: tl.constexpr, PDL: tl.constexpr):
    """Add 1 to count int32 [1] in program 0 if RELAY; PDL: start before the predecessor's end."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    if RELAY:  # noqa: SIM102 - known when compiling; the program's number is not
        if tl.program_id(0) == 0:
            tl.store(count_ptr, tl.load(count_ptr) + 1)
