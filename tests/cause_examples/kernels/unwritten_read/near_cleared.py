"""Clears out before it adds; the formula is wrong."""
# sum 13 accumulates_previous

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, CLEAR: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if CLEAR:
        tl.store(out_ptr, 0.0)
    else:
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        tl.atomic_add(out_ptr, tl.sum(x * x) + 1)


def run(x, out):
    kernel[(1,)](x, out, x.numel(), BLOCK=8, CLEAR=True)
    kernel[(2,)](x, out, x.numel(), BLOCK=8, CLEAR=False)
