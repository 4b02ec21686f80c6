"""The maximum is one number, of lanes past the end as well."""
# highest 5 formula

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + tl.arange(0, 1), tl.max(x, 0))


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8)
