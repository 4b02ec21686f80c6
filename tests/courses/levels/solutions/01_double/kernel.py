"""Doubles a vector: a block of elements for each program."""

import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    # BEGIN SOLUTION: double this program's block
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask=inside), mask=inside)
    # END SOLUTION


def double(x, out):
    # BEGIN SOLUTION: launch enough programs
    double_kernel[(triton.cdiv(x.numel(), BLOCK),)](x, out, x.numel(), BLOCK=BLOCK)
    # END SOLUTION
