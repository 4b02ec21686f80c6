"""A while loop that loads the next block before it stores the present one."""

import torch
import triton
import triton.language as tl

BLOCK = 1024
PROGRAMS = 1056


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    step = tl.num_programs(0) * BLOCK
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = tl.load(y_ptr + offsets, mask=offsets < n)
    start = tl.program_id(0).to(tl.int64) * BLOCK
    while start < n:
        following = offsets + step
        next_x = tl.load(x_ptr + following, mask=following < n)
        next_y = tl.load(y_ptr + following, mask=following < n)
        tl.store(out_ptr + offsets, x + y, mask=offsets < n)
        x, y, offsets = next_x, next_y, following
        start += step


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    add_kernel[(min(PROGRAMS, triton.cdiv(n, BLOCK)),)](x, y, out, n, BLOCK=BLOCK)
