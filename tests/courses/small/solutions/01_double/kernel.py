"""Twice a vector."""

import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # BEGIN SOLUTION: load the block, double it, store it
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, 2 * x, mask=inside)
    # END SOLUTION


def double(x, out):
    # BEGIN SOLUTION
    grid = (triton.cdiv(x.numel(), 128),)
    double_kernel[grid](x, out, x.numel(), BLOCK=128)
    # END SOLUTION
