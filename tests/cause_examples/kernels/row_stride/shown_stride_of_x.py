"""Takes the rows of out to lie as far apart as those of x."""
# table 3x4+3

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, x_stride, out_stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * x_stride + i, mask=i < n)
    tl.store(out_ptr + row * out_stride + i, x, mask=i < n)


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.stride(0), x.stride(0), x.shape[1], BLOCK=8)
