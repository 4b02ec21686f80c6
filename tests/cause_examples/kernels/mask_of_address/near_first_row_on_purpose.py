"""Adds row 0 to each row but once too often; its place is compared with the length of a row."""
# table 3x5 never_read

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    first = tl.load(x_ptr + lanes, mask=lanes < n, other=0.0)
    x = tl.load(x_ptr + row * n + lanes, mask=lanes < n, other=0.0)
    tl.store(out_ptr + row * n + lanes, x + first, mask=lanes < n)


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=8)
