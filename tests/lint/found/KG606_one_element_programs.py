"""Programs without a block: each takes an element, or one element after the other."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr):
    i = tl.program_id(0).to(tl.int64)  # KG606
    tl.store(out_ptr + i, tl.load(x_ptr + i) + tl.load(y_ptr + i))


@triton.jit
def sums(x_ptr, out_ptr, columns):
    row = tl.program_id(0).to(tl.int64)  # KG606
    total = 0.0
    for column in range(columns):
        total += tl.load(x_ptr + row * columns + column)
    tl.store(out_ptr + row, total)


def run(x, y, out):
    add[(x.numel(),)](x, y, out)
    sums[(x.shape[0],)](x, out, x.shape[1])
