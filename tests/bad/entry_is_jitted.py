"""The entry is the kernel itself, which would need a grid."""

import triton
import triton.language as tl


@triton.jit
def copy(x, out):
    tl.store(out, tl.load(x))
