"""Single elements, whole blocks, tables of a full block, offsets that were kept inside."""

import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, table_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    first = tl.load(x_ptr + row * stride)
    lanes = tl.arange(0, BLOCK)
    table = tl.load(table_ptr + lanes)
    x = tl.load(x_ptr + row * stride + offsets, offsets < columns, 0.0)
    tl.store(out_ptr + row * stride + offsets, x + first + table, mask=offsets < columns)


@triton.jit
def wraps_around(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    around = offsets % n
    x = tl.load(x_ptr + around)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def whole_blocks_apart(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = begin + tl.arange(0, BLOCK)
    if begin + BLOCK <= n:
        x = tl.load(x_ptr + offsets)
    else:
        x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@triton.jit
def shifted_last_block(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    begin = tl.program_id(0).to(tl.int64) * BLOCK
    offsets = tl.minimum(begin, n - BLOCK) + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x, mask=offsets >= begin)


@triton.jit
def tail_apart(x_ptr, out_ptr, start, n, BLOCK: tl.constexpr):
    for begin in range(0, start, BLOCK):
        offsets = begin + tl.arange(0, BLOCK)
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
    offsets = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def run(x, out):
    shifted_last_block[(1,)](x, out, 1000, BLOCK=1024)
    tail_apart[(1,)](x, out, 0, 1000, BLOCK=1024)
    rows[(1,)](x, x, out, 1, 1, BLOCK=1024)
    wraps_around[(1,)](x, out, 1000, BLOCK=1024)
    whole_blocks_apart[(1,)](x, out, 1000, BLOCK=1024)
