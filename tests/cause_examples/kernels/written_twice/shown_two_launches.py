"""The second launch begins inside the part of the first."""
# copy 13

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)  # here


def run(x, out):
    kernel[(2,)](x, out, x.numel(), BLOCK=8)
    kernel[(1,)](x, out[4:], 8, BLOCK=8)
