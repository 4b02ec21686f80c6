"""Stores the sum into out, and a second kernel applies the relu there: right, but 20 bytes, not 12.

Rejected at: traffic
"""

import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def mul_add_kernel(x_ptr, y_ptr, scale, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + offsets, mask=inside).to(tl.float32)
    tl.store(out_ptr + offsets, x * scale + y, mask=inside)


@triton.jit
def relu_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    total = tl.load(out_ptr + offsets, mask=inside)
    relu = tl.where(total < 0.0, 0.0, total)
    tl.store(out_ptr + offsets, relu, mask=inside)


def mul_add_relu(x: torch.Tensor, y: torch.Tensor, scale: float, out: torch.Tensor) -> None:
    n = out.numel()
    programs = triton.cdiv(n, BLOCK)
    mul_add_kernel[(programs,)](x, y, scale, out, n, BLOCK=BLOCK)
    relu_kernel[(programs,)](out, n, BLOCK=BLOCK)
