"""Programs begin half a block after one another, so that the end gets nothing."""
# copy 16

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 4 + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)  # here


def run(x, out):
    kernel[(triton.cdiv(x.numel(), 8),)](x, out, x.numel(), BLOCK=8)
