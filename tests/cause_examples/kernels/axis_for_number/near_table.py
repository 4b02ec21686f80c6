"""A table of one row, along whose axis 0 each lane keeps what it has; one is not loaded."""
# positive 5 formula

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=(i < n) & (i != 2), other=7.0)
    tl.store(out_ptr + i, tl.max(x[None, :], 0), mask=i < n)


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
