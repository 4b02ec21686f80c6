"""Twice a vector."""

import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # TODO: load the block, double it, store it
    pass


def double(x, out):
    raise NotImplementedError("01_double: write this part")
