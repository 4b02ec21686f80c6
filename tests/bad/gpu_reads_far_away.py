"""Reads 1 TB past its input: no such memory."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, far):
    tl.store(out_ptr, tl.load(x_ptr + far))


def copy(x, out):
    copy_kernel[(1,)](x, out, 1 << 40)
