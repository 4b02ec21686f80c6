"""Lanes past the end are in the maximum."""
# highest 5

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)  # here
    tl.store(out_ptr, tl.max(x, axis=0))


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
