"""Gives tl.arange a length that is known only at run time, in a function that the kernel calls."""

import triton
import triton.language as tl


@triton.jit
def offsets_of(n):
    return tl.arange(0, n)


@triton.jit
def copy_kernel(x_ptr, out_ptr, n):
    offsets = offsets_of(n)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def copy(x, out):
    copy_kernel[(1,)](x, out, x.shape[1])
