"""The maximum of the block has a name."""
# positive 5 formula

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=float("-inf"))
    positive = tl.max(x, 0)  # here
    tl.store(out_ptr + i, positive, mask=i < n)


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
