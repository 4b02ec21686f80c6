"""The last block is moved back until it is full, so that some outputs are computed twice."""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def shifted(x_ptr, y_ptr, scale, out_ptr, n, BLOCK: tl.constexpr):
    start = tl.minimum(tl.program_id(0).to(tl.int64) * BLOCK, n - BLOCK)
    offsets = start + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + offsets) * scale + tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, tl.where(total < 0.0, 0.0, total))


@triton.jit
def short(x_ptr, y_ptr, scale, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(x_ptr + offsets, mask=inside) * scale + tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.where(total < 0.0, 0.0, total), mask=inside)


def mul_add_relu(x: torch.Tensor, y: torch.Tensor, scale: float, out: torch.Tensor) -> None:
    n = out.numel()
    if n < BLOCK:
        short[(1,)](x, y, scale, out, n, BLOCK=triton.next_power_of_2(n))
    else:
        shifted[(triton.cdiv(n, BLOCK),)](x, y, scale, out, n, BLOCK=BLOCK)
