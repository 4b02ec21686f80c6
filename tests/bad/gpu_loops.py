"""Waits inside a kernel for a value that nobody writes."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr):
    first = tl.load(x_ptr)
    while tl.load(x_ptr, volatile=True) == first:
        tl.store(out_ptr, first)


def copy(x, out):
    copy_kernel[(1,)](x, out)
