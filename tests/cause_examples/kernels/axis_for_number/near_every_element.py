"""Each lane stores the maximum, where it is to store its own element."""
# copy 5 formula

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=float("-inf"))
    tl.store(out_ptr + i, tl.max(x, 0), mask=i < n)


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
