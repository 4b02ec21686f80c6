"""One program that adds a few numbers, a block of a helper, and a pointer to a block."""

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n):
    sum_so_far = 0.0
    for i in range(n):
        sum_so_far += tl.load(x_ptr + i)
    tl.store(out_ptr, sum_so_far)


@triton.jit
def offsets_of(program, BLOCK: tl.constexpr):
    return program * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = offsets_of(tl.program_id(0).to(tl.int64), BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


@triton.jit
def copy_blocks(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    begin = tl.program_id(0) * BLOCK
    x_block = tl.make_block_ptr(x_ptr, (n,), (1,), (begin,), (BLOCK,), (0,))
    out_block = tl.make_block_ptr(out_ptr, (n,), (1,), (begin,), (BLOCK,), (0,))
    x = tl.load(x_block, boundary_check=(0,))
    tl.store(out_block, x, boundary_check=(0,))


def run(x, out):
    total[(1,)](x, out, x.numel())
    copy[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    copy_blocks[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
