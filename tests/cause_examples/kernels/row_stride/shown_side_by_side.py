"""Takes the elements of a table to follow one another."""
# table 3x4+3

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)  # here


def run(x, out):
    kernel[(2,)](x, out, x.numel(), BLOCK=8)
