"""The sum is NaN by a division; the lanes past the end are stored nowhere."""
# sum 5

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < 0)
    y = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr, tl.sum(y - y) / tl.sum(y - y))


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
