"""Fills out with zeros first, and then stores the sums above 0: right, but out is written twice.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def zero_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.zeros((BLOCK,), tl.float32), mask=offsets < n)


@triton.jit
def mul_add_kernel(x_ptr, y_ptr, scale, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    total = x * scale + y
    # A NaN is stored, too: it is neither above 0 nor below.
    tl.store(out_ptr + offsets, total, mask=inside & ~(total <= 0.0))


def mul_add_relu(x: torch.Tensor, y: torch.Tensor, scale: float, out: torch.Tensor) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    zero_kernel[(programs,)](out, n, BLOCK=BLOCK)
    mul_add_kernel[(programs,)](x, y, scale, out, n, BLOCK=BLOCK)
