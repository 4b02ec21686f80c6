"""Atomic additions begin with what out held before."""
# sum 13 accumulates_previous

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x))  # here


def run(x, out):
    kernel[(2,)](x, out, x.numel(), BLOCK=8)
