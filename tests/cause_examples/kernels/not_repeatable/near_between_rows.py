"""Reads what lies between two rows, which is new in each call."""
# table 3x4+3

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, out_stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + i, mask=i < n)
    tl.store(out_ptr + row * out_stride + i, x, mask=i < n)


def run(x, out):
    kernel[(x.shape[0],)](x, out, out.stride(0), x.shape[1], BLOCK=8)
