"""Compares row * n + start + lanes, a place in the table, with the length of a row."""
# table 3x5 never_written

import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        offsets = row * n + start + lanes
        inside = offsets < n  # here
        x = tl.load(x_ptr + offsets, mask=inside)
        tl.store(out_ptr + offsets, x, mask=inside)


def run(x, out):
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=4)
