"""The stores have a mask, the loads have none."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    y_block = y_ptr + offsets
    x = tl.load(x_ptr + offsets)  # KG602
    y = tl.load(y_block)  # KG602
    tl.store(out_ptr + offsets, x + y, mask=inside)


@triton.jit
def rows(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        lanes = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + start + lanes)  # KG602
        tl.store(out_ptr + row * stride + start + lanes, x, start + lanes < columns)


def run(x, y, out):
    add[(1,)](x, y, out, 1000, BLOCK=1024)
    rows[(1,)](x, out, 1, 1, BLOCK=1024)
