"""The last block is moved back until it is full, so that some sums are computed twice."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def shifted(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.minimum(tl.program_id(0).to(tl.int64) * BLOCK, n - BLOCK)
    offsets = start + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(y_ptr + offsets))


@triton.jit
def short(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def vector_add(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    n = out.numel()
    if n < BLOCK:
        short[(1,)](x, y, out, n, BLOCK=triton.next_power_of_2(n))
    else:
        shifted[(triton.cdiv(n, BLOCK),)](x, y, out, n, BLOCK=BLOCK)
