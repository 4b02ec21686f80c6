"""Adds to what out held before."""
# copy 13 accumulates_previous

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    old = tl.load(out_ptr + i, mask=i < n)  # here
    tl.store(out_ptr + i, old + x, mask=i < n)


def run(x, out):
    kernel[(2,)](x, out, x.numel(), BLOCK=8)
