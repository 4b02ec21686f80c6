"""Doubles a vector: a block of elements for each program."""

import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    # TODO: double this program's block
    pass


def double(x, out):
    raise NotImplementedError("01_double: launch enough programs")
