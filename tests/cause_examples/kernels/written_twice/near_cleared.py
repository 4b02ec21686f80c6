"""Stores zeros everywhere first, on purpose; the formula is wrong."""
# copy 13

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, CLEAR: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if CLEAR:
        tl.store(out_ptr + i, 0.0, mask=i < n)
    else:
        x = tl.load(x_ptr + i, mask=i < n)
        tl.store(out_ptr + i, x * x + 1, mask=i < n)


def run(x, out):
    kernel[(2,)](x, out, x.numel(), BLOCK=8, CLEAR=True)
    kernel[(2,)](x, out, x.numel(), BLOCK=8, CLEAR=False)
