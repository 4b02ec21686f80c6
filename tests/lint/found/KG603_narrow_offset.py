"""Products of 32 bits in addresses."""

import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, out_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x_row = x_ptr + row * x_stride  # KG603
    x = tl.load(x_row + offsets, mask=offsets < columns)
    tl.store(out_ptr + out_stride * row + offsets, x, mask=offsets < columns)  # KG603


@triton.jit
def persistent(x_ptr, out_ptr, rows, stride, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        begin = row * stride  # KG603
        x = tl.load(x_ptr + begin + offsets, mask=offsets < stride)
        tl.store(out_ptr + begin + offsets, x, mask=offsets < stride)


def run(x, out):
    rows[(1,)](x, out, 1, 1, 1, BLOCK=1024)
    persistent[(1,)](x, out, 1, 1, BLOCK=1024)
