"""Widened in time, strides of 64 bits, and products that are no offsets."""

import triton
import triton.language as tl


@triton.jit
def widened(x_ptr, out_ptr, stride, wide: tl.int64, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + offsets, mask=offsets < columns)
    other = tl.cast(tl.program_id(0), tl.int64)
    x += tl.load(x_ptr + other * stride + offsets, mask=offsets < columns)
    x += tl.load(x_ptr + tl.program_id(0) * wide + offsets, mask=offsets < columns)
    mixed = tl.program_id(0) + columns.to(tl.int64)
    x += tl.load(x_ptr + mixed * stride + offsets, mask=offsets < columns)
    count = tl.program_id(0) * columns
    tl.store(out_ptr + row * stride + offsets, x * count, mask=offsets < columns)


@triton.jit
def blocks(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def run(x, out):
    widened[(1,)](x, out, 1, 1, 1, BLOCK=1024)
    blocks[(1,)](x, out, 1, BLOCK=1024)
