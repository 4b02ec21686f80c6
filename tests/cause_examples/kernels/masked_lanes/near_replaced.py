"""Lanes past the end get 0 before they are added; the sum is 1 too large."""
# sum 5

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    x = tl.where(i < n, x, 0.0)
    tl.store(out_ptr, tl.sum(x) + 1)


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
