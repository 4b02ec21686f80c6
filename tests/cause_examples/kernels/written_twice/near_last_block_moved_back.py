"""The last block begins earlier to be whole, and stores equal values; the formula is wrong."""
# copy 13

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.minimum(tl.program_id(0) * BLOCK, n - BLOCK) + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.maximum(x, 0.0))


def run(x, out):
    kernel[(2,)](x, out, x.numel(), BLOCK=8)
