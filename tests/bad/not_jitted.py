"""Launches a function that is no kernel, for nobody wrote @triton.jit above it."""

import triton.language as tl


def copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def copy(x, out):
    copy_kernel[(1,)](x, out, BLOCK=16)
