"""Compares a place in the table with the length of the table; the values are wrong."""
# table 3x5 never_read

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = row * columns + tl.arange(0, BLOCK)
    inside = (offsets < n) & (tl.arange(0, BLOCK) < columns)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, x + 1.0, mask=inside)


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.numel(), x.shape[1], BLOCK=8)
