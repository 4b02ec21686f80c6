"""Gives tl.arange a length that is known only at run time."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n):
    offsets = tl.arange(0, n)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def copy(x, out):
    copy_kernel[(1,)](x, out, x.shape[1])
